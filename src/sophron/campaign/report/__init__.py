"""The report of a campaign: gathered from results and records, as an HTML page and as an RO-Crate."""
