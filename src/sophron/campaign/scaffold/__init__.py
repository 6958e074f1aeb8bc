"""New campaign folders, and the catalogue of kinds and examples that they start from."""
