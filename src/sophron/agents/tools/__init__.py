"""Tools that a model may call before it answers: files of the step, a command in the sandbox, MCP servers."""

__all__ = [
    "command", "crossref", "files", "json_rpc_filter", "literature", "literature_web", "mcp_client", "path_resolver",
    "safe_open", "sandboxed_process", "toolbox",
]  # fmt: skip
