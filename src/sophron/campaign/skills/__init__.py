"""Skills in the Agent Skills format: read and identified, examined for dangers, copied into a campaign, handed out."""

__all__ = ["danger_checks", "skill_folder", "skill_source"]
