"""Tasks that programs check: Harbor folders and SciFi Markdown read, environments rebuilt, results verified."""
