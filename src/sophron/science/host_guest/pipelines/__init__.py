"""Reference pipelines: the stage files that the rule-based pipeline author starts from."""
