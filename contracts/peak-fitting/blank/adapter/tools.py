"""Tools of a spectrum: look, set a model, fit it, compare, report."""

import math

import numpy as np
from engine import peaks as engine
from scipy.signal import find_peaks, peak_widths

MOST_DEGREE, MOST_PEAKS = 3, 8


class Tools:
    """One spectrum and the models fitted to it. Fits are kept as states, from 1."""

    def __init__(self, sample: dict):
        self._x, self._counts = np.array(sample["x"]), np.array(sample["counts"])
        self._unit = sample["unit"]
        self._model = None
        self._states: dict[int, dict] = {}
        self._state = None

    def look(self, low: float | None = None, high: float | None = None) -> dict:
        """Show the spectrum, or a window of it from `low` to `high`, with the current model and its residuals.

        Says where smoothed counts have maxima, with widths in the unit of the axis: a start for `model`, no result.
        """
        whole = low is None and high is None
        low, high = (self._x[0] if low is None else low), (self._x[-1] if high is None else high)
        inside = (self._x >= low) & (self._x <= high)
        if inside.sum() < 5:
            raise ValueError(
                f"fewer than 5 points lie between {low} and {high}; the axis is {self._x[0]} to {self._x[-1]}"
            )
        x, counts = self._x[inside], self._counts[inside]
        plot = {"low": float(low), "high": float(high), "whole": whole, "unit": self._unit, "x": x, "counts": counts}
        if self._state is not None:
            kept = self._states[self._state]
            below, mean = engine.calculated(self._x, kept["background"], kept["peaks"])
            plot |= {"background": below[inside], "model": mean[inside]}
            plot["residuals"] = engine.deviance_terms(self._counts, mean)[inside]
        about = {"state": self._state, "points": len(x), "counts": int(counts.sum()), "most": int(counts.max())}
        return about | {"least": int(counts.min()), "maxima": self._maxima(inside), "plot": plot}

    def _maxima(self, inside) -> list[dict]:
        width = 5
        smooth = np.convolve(np.pad(self._counts, width // 2, mode="edge"), np.ones(width) / width, mode="valid")
        noise = math.sqrt(max(float(np.median(smooth)), 1.0) / width)
        found, about = find_peaks(smooth, prominence=4 * noise)
        widths = peak_widths(smooth, found, rel_height=0.5)[0] * (self._x[1] - self._x[0])
        listed = zip(found, about["prominences"], widths, strict=True)
        return [
            {"position": float(self._x[at]), "above": round(float(above), 1), "width": round(float(wide), 2)}
            for at, above, wide in listed
            if inside[at]
        ]

    def model(self, background_degree: int, peaks: list[dict]) -> dict:
        """Set the model to fit next: a background of degree 0 to 3, and peaks with starting values.

        A peak: {shape: gaussian or lorentzian, position, fwhm, area} or {shape: voigt, position, fwhm_gauss,
        fwhm_lorentz, area}. Areas are counts; one that is not given is estimated.
        """
        if not 0 <= background_degree <= MOST_DEGREE:
            raise ValueError(f"background_degree is 0 to {MOST_DEGREE}")
        if len(peaks) > MOST_PEAKS:
            raise ValueError(f"at most {MOST_PEAKS} peaks")
        base = float(np.percentile(self._counts, 20))
        made = [self._start(peak, base) for peak in peaks]
        self._model = ([base, *[0.0] * background_degree], made)
        return {"state": self._state, "variables": len(engine.pack(*self._model)), "peaks": made}

    def _start(self, peak: dict, base: float) -> dict:
        shape = peak.get("shape")
        if shape not in engine.WIDTHS:
            raise ValueError(f"shape is one of {', '.join(engine.WIDTHS)}")
        wanted = ("position", *engine.WIDTHS[shape])
        lacking = [name for name in wanted if name not in peak]
        if lacking or set(peak) - {*wanted, "shape", "area"}:
            raise ValueError(f"a {shape} peak has shape, {', '.join(wanted)} and perhaps area")
        at = {name: float(peak[name]) for name in wanted}
        if not self._x[0] < at["position"] < self._x[-1] or min(at[name] for name in wanted[1:]) <= 0:
            raise ValueError("the position lies on the axis, and widths are above zero")
        made = {"shape": shape, "area": 0.0, **at}
        top = max(float(np.interp(at["position"], self._x, self._counts)) - base, 1.0)
        made["area"] = float(peak.get("area", top * 1.2 * engine.fwhm(made) / (self._x[1] - self._x[0])))
        return {"shape": shape, **{name: made[name] for name in engine.names(made)}}

    def fit(self) -> dict:
        """Fit the model by maximum likelihood; the result is a new state.

        deviance_per_dof is about 1 if the model is right; significance of a peak is its area over its deviation.
        """
        if self._model is None:
            raise ValueError("there is no model yet; call model first")
        background, peaks, covariance, deviance, converged = engine.fit(self._x, self._counts, *self._model)
        variables, number = len(covariance), len(self._states) + 1
        self._states[number] = {
            "background": background,
            "peaks": peaks,
            "covariance": covariance,
            "deviance": deviance,
            "variables": variables,
            "converged": converged,
        }
        self._state = number
        return self._told(number) | {"background": [round(one, 4) for one in background], "peaks": self._listed(number)}

    def _told(self, number: int) -> dict:
        kept, points = self._states[number], len(self._x)
        return {
            "state": number,
            "converged": kept["converged"],
            "variables": kept["variables"],
            "background_degree": len(kept["background"]) - 1,
            "shapes": [peak["shape"] for peak in kept["peaks"]],
            "deviance": round(kept["deviance"], 3),
            "deviance_per_dof": round(kept["deviance"] / (points - kept["variables"]), 4),
            "bic": round(kept["deviance"] + kept["variables"] * math.log(points), 3),
        }

    def _listed(self, number: int) -> list[dict]:
        """Peaks of a state by position: each parameter with its standard deviation, and the whole width."""
        kept, listed = self._states[number], []
        first = len(kept["background"])
        for peak in kept["peaks"]:
            one: dict = {"shape": peak["shape"]}
            names = engine.names(peak)
            own = kept["covariance"][first : first + len(names), first : first + len(names)]
            first += len(names)
            for at, name in enumerate(names):
                one[name], one[f"{name}_esd"] = peak[name], math.sqrt(max(float(own[at, at]), 0.0))
            one["fwhm"], one["fwhm_esd"] = engine.fwhm(peak), engine.fwhm_esd(peak, own)
            one["significance"] = one["area"] / one["area_esd"] if one["area_esd"] else 0.0
            listed.append(
                {key: value if isinstance(value, str) else float(f"{value:.7g}") for key, value in one.items()}
            )
        return sorted(listed, key=lambda peak: peak["position"])

    def residuals(self) -> dict:
        """Where the current state misses most: windows of 10 points by the sum of residuals over its deviation."""
        if self._state is None:
            raise ValueError("there is no fit yet; call fit first")
        kept = self._states[self._state]
        terms = engine.deviance_terms(self._counts, engine.calculated(self._x, kept["background"], kept["peaks"])[1])
        windows = [
            {
                "low": float(self._x[at]),
                "high": float(self._x[at + 9]),
                "sum": round(float(terms[at : at + 10].sum() / math.sqrt(10)), 2),
            }
            for at in range(0, len(terms) - 9, 5)
        ]
        return {"state": self._state, "worst": sorted(windows, key=lambda one: -abs(one["sum"]))[:5]}

    def compare(self) -> dict:
        """All states: variables, deviance, BIC (lower is better; a difference below 6 decides little)."""
        return {"state": self._state, "states": [self._told(number) for number in self._states]}

    def go_to(self, state: int) -> dict:
        """Make an earlier state the current one."""
        if state not in self._states:
            raise ValueError(f"there is no state {state}; there are 1 to {len(self._states)}")
        self._state = state
        return self._told(state)

    def note(self, text: str) -> dict:
        """Write down a decision and what it rests on."""
        if not text.strip():
            raise ValueError("a note has words")
        return {"state": self._state, "noted": text}

    def report(self) -> dict:
        """The numbers of the report, for the current state."""
        if self._state is None:
            raise ValueError("there is no fit yet; call fit first")
        told = self._told(self._state)
        wanted = ("shape", "position", "position_esd", "fwhm", "fwhm_esd", "area", "area_esd", "significance")
        listed = [{key: peak[key] for key in wanted} for peak in self._listed(self._state)]
        keys = ("state", "converged", "variables", "background_degree", "deviance_per_dof")
        return {key: told[key] for key in keys} | {"peaks": listed}
