"""The kind task: work that an agent does and programs judge, each task a stage with a loop of its own."""

__all__ = ["agent_inputs", "desk", "kind", "skill_material", "stages", "task_campaign", "task_table", "work_tools"]
