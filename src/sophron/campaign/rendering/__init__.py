"""HTML pages, safe display of text, and the stage graph as SVG: shared by review and report."""

__all__ = ["formatting", "html", "stage_graph_svg"]
