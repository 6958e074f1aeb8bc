"""`python -m sophron`: the verbs if only an interpreter is known, as in a sandbox."""

import sys

from sophron.cli import main

sys.exit(main())
