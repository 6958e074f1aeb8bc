"""Sources of samples: functions (folder of the contract, parameters) -> Given, by their names in curriculum.yaml.

`file` (a JSON file of the contract) is one that every installation has. A simulated sample whose answer is exact is
worth more than a measured one whose answer is disputed: draw it here from a seed.
"""

from sophron.agentbuild.curriculum import Given


def simulated(folder, parameters):
    """Return numbers around a mean that is known. parameters: `mean`, `count`, `seed`."""
    import numpy as np

    del folder
    values = np.random.default_rng(parameters["seed"]).normal(parameters["mean"], 1.0, parameters["count"])
    return Given({"values": [float(value) for value in values]}, {"count": parameters["count"]})
