"""Tools that a model may call before it answers: files of the step, a command in the sandbox, MCP servers."""

__all__ = ["files", "literature", "literature_web", "mcp_client", "safe_open", "skills", "toolbox"]
