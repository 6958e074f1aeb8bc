"""A random forest: base value and SHAP values add up to its prediction."""

import json

import numpy as np
import shap
from sklearn.datasets import make_regression
from sklearn.ensemble import RandomForestRegressor

x, y = make_regression(100, 4, random_state=1)
forest = RandomForestRegressor(20, random_state=1).fit(x, y)
values = shap.TreeExplainer(forest)(x[:20])
sums = values.base_values.ravel() + values.values.sum(axis=1)
print(json.dumps({"additivity_error": float(np.max(np.abs(sums / forest.predict(x[:20]) - 1)))}))
