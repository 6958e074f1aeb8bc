"""The process of one task: `python -m sophron.build.release.worker PACKAGE FOLDER`. The server starts and ends it."""

import sys
from pathlib import Path

from sophron.build.release import package, tasks


def main(words: list[str]) -> int:
    """Run one task."""
    where, folder = map(Path, words)
    tasks.run(package.load(where), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
