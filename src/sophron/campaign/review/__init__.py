"""The review that a person reads before signing, for the terminal and as an HTML page."""

__all__ = ["host_rules", "mutation_text", "review", "review_page", "review_text"]
