"""The program `sophron`, and `python -m sophron` if only an interpreter is known, as in a sandbox."""

import os
import sys


def main() -> int:
    """Run one verb; a step of a local run is forked from the warm process of its driver, if there is one."""
    if "SOPHRON_FORK_SERVER" in os.environ:
        from sophron.warm_workers import fork_client

        code = fork_client.run()
        if code is not None:
            sys.stderr.flush()
            os._exit(code)  # nothing was opened here that an interpreter would have to close
    from sophron import cli

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
