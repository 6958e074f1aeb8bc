"""Autocorrelation of long series by FFT, block after block, in memory that does not grow with their length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import fft

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_TRANSFORM = 1 << 15
"""Shortest FFT used: shorter ones cost more in Python than in arithmetic."""


class StreamedAutocorrelation:
    """Sums x(t) x(t + k) for lags k < `lags`, of `columns` series that arrive in pieces.

    Overlap-save: each block is correlated with itself and with the `lags` - 1 samples before it. The products are
    added up as spectra and transformed back once, at the end. The result is the direct sum up to rounding (relative
    to lag 0 about 1e-14), however the series was cut. The mean is not subtracted: stress components have mean zero
    by symmetry, and subtracting a sample mean would bias every lag by minus its variance.
    """

    def __init__(self, lags: int, columns: int) -> None:
        """lags: number of lags, from 0 on; columns: number of series."""
        if lags < 1 or columns < 1:
            raise ValueError("at least one lag and one column are needed")
        self.lags = lags
        self.samples = 0
        self._length = int(fft.next_fast_len(max(4 * lags, LEAST_TRANSFORM), real=True))
        self._history = np.zeros((columns, lags - 1))
        self._spectrum = np.zeros((columns, self._length // 2 + 1), dtype=np.complex128)

    @property
    def block(self) -> int:
        """Samples that one transform takes in; pieces of a multiple of it are the fastest."""
        return self._length - self.lags + 1

    def add(self, piece: NDArray[np.float64]) -> None:
        """Take in the next samples, shape (n, columns)."""
        for start in range(0, len(piece), self.block):
            self._add_block(np.ascontiguousarray(piece[start : start + self.block].T, dtype=np.float64))

    def result(self) -> NDArray[np.float64]:
        """Return the mean of x(t) x(t + k) over all n - k pairs, shape (lags, columns); ValueError if n < lags."""
        if self.samples < self.lags:
            raise ValueError(f"{self.lags} lags need as many samples; there are {self.samples}")
        sums = fft.irfft(self._spectrum, self._length, axis=1)[:, : self.lags]
        pairs = self.samples - np.arange(self.lags)
        return np.ascontiguousarray((sums / pairs).T)

    def _add_block(self, block: NDArray[np.float64]) -> None:
        """Add the products of `block`, shape (columns, n <= self.block), with itself and its past."""
        past = self._history.shape[1]
        joined = np.concatenate([self._history, block], axis=1)
        both = fft.rfft(joined, self._length, axis=1)
        joined[:, :past] = 0.0
        alone = fft.rfft(joined, self._length, axis=1)
        np.conjugate(both, out=both)
        both *= alone
        self._spectrum += both
        self.samples += block.shape[1]
        if past:
            joined[:, :past] = self._history
            self._history = joined[:, -past:].copy()


def autocorrelation(series: NDArray[np.float64], lags: int) -> NDArray[np.float64]:
    """Mean of x(t) x(t + k) for k < `lags`, of each column of `series`, shape (n, columns) -> (lags, columns)."""
    streamed = StreamedAutocorrelation(lags, series.shape[1])
    streamed.add(series)
    return streamed.result()
