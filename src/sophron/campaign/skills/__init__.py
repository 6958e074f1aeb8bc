"""Skills in the Agent Skills format: read, examined for dangers, drafted, copied into a campaign, handed out."""

__all__ = ["danger_checks", "skill_draft", "skill_folder", "skill_source"]
