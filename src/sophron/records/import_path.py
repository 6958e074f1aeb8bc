"""Where Python looks for modules: what is installed comes before what lies in a campaign's folder."""

import os
import sys

from sophron.records import SPEC_NAME


def put_last(folder: str) -> None:
    """Let Python find the modules of `folder`, after all others.

    Snakemake puts the folder of a Snakefile first unless it is in the path already: a file that an agent's program
    left there, called as a library, would then run in the driver before anything of it was looked at.
    """
    sys.path[:] = [*(entry for entry in sys.path if entry not in ("", folder)), folder]


def put_campaign_last() -> None:
    """Put the working directory last, if it is a campaign's. A host's folder is its owner's."""
    folder = os.getcwd()  # noqa: PTH109 - no pathlib: called at every start of Snakemake
    if os.path.isfile(os.path.join(folder, SPEC_NAME)):  # noqa: PTH113, PTH118
        put_last(folder)
