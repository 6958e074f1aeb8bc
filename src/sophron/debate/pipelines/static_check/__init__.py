"""Layer-1: what the source of a stage file may import, call and know, by its syntax tree."""

__all__ = ["hardcoded_chemistry", "import_policy", "layer1", "stage_source"]
