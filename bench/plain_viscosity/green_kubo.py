"""Shear viscosity from stress samples: python green_kubo.py CONFIG OUT STRESS..."""

import json
import sys

import numpy as np
import yaml


def components(pressure):  # each has the mean 0 in a liquid at rest
    xx, yy, zz, xy, xz, yz = pressure.T
    return np.stack([xy, xz, yz, (xx - yy) / 2, (2 * zz - xx - yy) / (2 * np.sqrt(3))])


def autocorrelation(series, lags):
    size = 2 * len(series)
    spectrum = np.fft.rfft(series, size)
    return np.fft.irfft(spectrum * spectrum.conj(), size)[:lags] / (len(series) - np.arange(lags))


config = yaml.safe_load(open(sys.argv[1]))
volume = 4 * config["cells"] ** 3 / config["density"]
interval = config["timestep"] * config["sample_every"]
lags = round(config["max_lag_tau"] / interval) + 1
integrals, temperatures = [], []
for path in sys.argv[3:]:
    samples = np.loadtxt(path)[:, 1:]
    temperatures.append(samples[:, 6].mean())
    for series in components(samples[:, :6]):
        acf = autocorrelation(series, lags)
        running = np.concatenate([[0], np.cumsum((acf[1:] + acf[:-1]) / 2)]) * interval
        integrals.append(volume / config["temperature"] * running)
integrals = np.array(integrals)
mean = integrals.mean(axis=0)
# The correlation has died out after 3 tau.
end = max(min(round(3.0 / interval), lags - 1), 1)
values = integrals[:, end]
result = {
    "viscosity": float(values.mean()),
    "standard_error": float(values.std(ddof=1) / np.sqrt(len(values))),
    "units": "epsilon tau sigma^-3 (LJ)",
    "temperature": float(np.mean(temperatures)),
    "replicas": len(sys.argv) - 3,
    "cutoff_tau": end * interval,
}
json.dump(result, open(sys.argv[2], "w"), indent=2)
