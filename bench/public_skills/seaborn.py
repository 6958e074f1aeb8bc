"""lmplot of two groups."""

import json

import matplotlib as mpl
import pandas as pd

mpl.use("agg")
import seaborn as sns

data = pd.DataFrame({"x": range(20), "y": [n + n % 3 for n in range(20)], "group": ["a", "b"] * 10})
grid = sns.lmplot(data, x="x", y="y", col="group")
grid.savefig("groups.png")
print(json.dumps({"panels": grid.axes.size}))
