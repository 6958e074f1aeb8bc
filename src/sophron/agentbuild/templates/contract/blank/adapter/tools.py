"""The tools of the agent: public methods of `Tools`, plain data in and out. It is shown their types and docstrings.

They run in its sandbox, without network. A ValueError is a sentence for the agent. What a result has under `plot` is
drawn by `draw` of plotting/draw.py, if there is one; its `state` (a whole number) is what a later report is about.
"""


class Tools:
    """One sample."""

    def __init__(self, sample: dict):
        self._sample = sample

    def describe(self) -> dict:
        """What there is in the sample."""
        return {"keys": sorted(self._sample)}
