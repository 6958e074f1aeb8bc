"""Memory of agents between iterations: bounded memory, failures seen by the debug agent, restart files."""

__all__ = ["agent_memory", "debug_memory", "restart_files"]
