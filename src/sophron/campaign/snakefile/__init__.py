"""What Snakefiles import: the campaign API of rules, the onstart hook, and the dry run."""

__all__ = ["dry_run", "list_rules", "local_steps", "onstart", "own_rules", "snakefile_api"]
