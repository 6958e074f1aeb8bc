"""Agents built from a contract that people wrote: what is judged, what may be edited, and what is released."""
