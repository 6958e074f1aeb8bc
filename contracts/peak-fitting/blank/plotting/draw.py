"""The plot of a spectrum: counts with the model and its background above, residuals below."""

import io

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot


def draw(curves: dict) -> bytes:
    """Return a PNG of what the tool `look` gives."""
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(8, 6), height_ratios=[3, 1], dpi=90)
    above.errorbar(curves["x"], curves["counts"], yerr=curves["counts"] ** 0.5, fmt=".", ms=3, lw=0.5, label="counts")
    if "model" in curves:
        above.plot(curves["x"], curves["model"], color="C3", label="model")
        above.plot(curves["x"], curves["background"], color="C2", ls="--", label="background")
        below.plot(curves["x"], curves["residuals"], ".", ms=3)
    above.legend()
    above.set_ylabel("counts")
    below.axhline(0, color="k", lw=0.5)
    below.set(xlabel=curves["unit"], ylabel="residual / sigma", ylim=(-5, 5))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    pyplot.close(figure)
    return buffer.getvalue()
