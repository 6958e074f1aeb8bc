"""`python -m sophron`: the verbs where only an interpreter is known, as in a sandbox."""

import sys

from sophron.cli import main

sys.exit(main())
