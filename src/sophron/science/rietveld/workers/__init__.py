"""The engines' side: programs that run in a process of their own and answer one line of JSON with another."""
