"""Whether the tests pass with a right codec, and fail with each that is wrong in one place."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reference import SOURCE, mutants


def passes(code: str) -> bool:
    """Whether the worker's tests pass with this codec."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sys.argv[1], Path(folder, "test_codec.py"))
        Path(folder, "codec.py").write_text(code)
        command = [sys.executable, "-m", "unittest", "test_codec"]
        return not subprocess.run(command, cwd=folder, check=False, capture_output=True, timeout=60).returncode


assert passes(SOURCE), "the tests fail with a right codec"
for about, code in mutants().items():
    assert not passes(code), f"the tests do not find that {about}"
