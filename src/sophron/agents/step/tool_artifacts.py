"""What tools left in their work folder and belongs to an answer: read without following any link out of it."""

import os
from pathlib import Path

from sophron.agents.documents.errors import AgentFailure
from sophron.agents.tools import safe_open

LARGEST_BYTES = 64 * 1024**2


def read(scratch: Path, name: str, path: str) -> bytes:
    """Content of the file `path` below `scratch`, kept as `name`. AgentFailure where it is not there or not plain."""
    *folders, last = path.split("/")
    try:
        with safe_open.folder(scratch, folders) as parent, safe_open.regular(parent, last, one_name=True) as handle:
            if os.fstat(handle).st_size > LARGEST_BYTES:
                raise AgentFailure("tool", f"the tools left a {name} of more than {LARGEST_BYTES >> 20} MiB")
            with os.fdopen(os.dup(handle), "rb") as stream:
                return stream.read()
    except FileNotFoundError:
        raise AgentFailure("tool", f"there is an answer, but its tools left no {name}") from None
    except safe_open.Outside as refusal:
        raise AgentFailure("tool", f"the {name} that the tools left is refused: {refusal}") from None
