"""What Snakefiles import: the campaign API of rules, the onstart hook, and the dry run."""

__all__ = ["dry_run", "onstart", "snakefile_api"]
