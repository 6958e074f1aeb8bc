"""The kind screen: one pipeline over a library of guests."""
