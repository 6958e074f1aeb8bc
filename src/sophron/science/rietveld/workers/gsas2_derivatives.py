"""Derivatives of line positions by the cell: GSAS-II's leave out the elements that symmetry ties to the first one.

In a cubic cell A0 = A1 = A2: a line moves with h^2 + k^2 + l^2, where GSAS-II takes h^2; the same in tetragonal,
hexagonal and trigonal ones. Least squares with such derivatives end beside the minimum, and the esd of the edge is a
third too large on a cubic pattern.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from GSASII import GSASIIstrMath

from sophron.science.rietveld.workers.gsas2_model import Model

FIRST_ALONE = "return [[pfx+'A0',dpdA[0]]]"
"""Stands in a GSAS-II that has this fault; one without it is left as it is."""

TIED = {
    **dict.fromkeys(("m3", "m3m"), (1, 2)),
    **dict.fromkeys(("4/m", "4/mmm"), (1,)),
    **dict.fromkeys(("3", "3m1", "31m", "6/m", "6/mmm"), (1, 3)),
}
"""Laue class -> elements of the reciprocal metric that equal the first."""

_OF_POSITION: Callable[..., tuple[Any, ...]] = GSASIIstrMath.GetReflPosDerv


def complete(model: Model) -> None:
    """Let the derivatives by the first element of the phases of `model` hold those by the elements tied to it."""
    if FIRST_ALONE not in inspect.getsource(GSASIIstrMath):
        return
    tied = {f"{phase.id}::": TIED.get(phase.data["General"]["SGData"]["SGLaue"], ()) for phase in model.phases}

    def of_position(refl: Any, im: int, wave: float, metric: Any, prefix: str, *others: Any) -> tuple[Any, ...]:
        by_metric, *rest = _OF_POSITION(refl, im, wave, metric, prefix, *others)
        by_metric[0] += sum(by_metric[one] for one in tied[prefix])
        return (by_metric, *rest)

    GSASIIstrMath.GetReflPosDerv = of_position
