"""New campaign folders, and the catalogue of kinds and examples that they start from."""

__all__ = ["adopt", "campaign_folder", "kind_catalogue", "schema_outline", "yaml_comments"]
