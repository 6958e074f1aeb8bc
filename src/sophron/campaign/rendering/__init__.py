"""HTML pages, safe display of text, and the stage graph as SVG: shared by review and report."""
