"""Former name of `files`, which recorded pipelines import."""

import sys

from sophron.records import files

sys.modules[__name__] = files
