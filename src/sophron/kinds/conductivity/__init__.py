"""The kind conductivity: thermal conductivity by Green-Kubo and by Müller-Plathe."""

__all__ = ["kind"]
