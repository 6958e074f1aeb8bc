"""Whether the program collects a site that nobody saw, served on a port of this machine."""

import csv
import secrets
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from site_pages import HEADER, rows, write


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


for _ in range(2):
    seed = secrets.randbits(40)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "deep"), seed)
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, target = f"http://127.0.0.1:{server.server_port}/deep/index.html", Path(folder, "out.csv")
        subprocess.run([sys.executable, sys.argv[1], url, target], check=True, timeout=60)
        server.shutdown()
        with target.open(encoding="utf-8", newline="") as stream:
            assert list(csv.reader(stream)) == [list(HEADER), *rows(seed)], "the rows differ"
