"""The engines' side: programs that run in separate processes and answer one line of JSON with another."""
