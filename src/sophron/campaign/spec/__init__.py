"""The spec of a campaign: `campaign.yaml`, its criteria, pitfalls, resources, and the question it asks."""
