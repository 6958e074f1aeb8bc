"""Layer-1: what the source of a stage file may import, call and know, by its syntax tree."""
