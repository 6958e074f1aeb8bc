"""400 handwritten digits in two dimensions: neighbours stay neighbours."""

import json

import umap
from sklearn.datasets import load_digits
from sklearn.manifold import trustworthiness

x = load_digits().data[:400]
print(json.dumps({"trustworthiness": trustworthiness(x, umap.UMAP(random_state=1).fit_transform(x))}))
