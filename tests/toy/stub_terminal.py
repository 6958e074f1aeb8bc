"""A terminal of a given size around a program, and what a person sees on it."""

import fcntl
import os
import pty
import signal
import struct
import termios
import time

import pyte


class Terminal:
    """Runs `args` in a terminal of `columns` x `lines`; everything that was written to it is in `raw`."""

    def __init__(self, args, env=None, cwd=None, *, columns=100, lines=40):
        self.raw, self._size = b"", (columns, lines)
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.chdir(cwd or ".")
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job of a shell in the background ignores it
            os.execvpe(args[0], args, {**(env or os.environ), "TERM": "xterm"})
        fcntl.ioctl(self._handle, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, until=None, most_s=60):
        """Read to the end, or until `until` is on the screen; whether it is."""
        deadline = time.monotonic() + most_s
        while until is None or until not in self.text():
            assert time.monotonic() < deadline, self.text()
            try:
                news = os.read(self._handle, 65536)
            except OSError:  # its last program has ended
                news = b""
            if not news:
                return False
            self.raw += news
        return True

    def end(self):
        """Read what is left; the exit code."""
        self.read()
        os.close(self._handle)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def screen(self):
        """What stands on the screen now, line by line, with what scrolled off it."""
        columns, lines = self._size
        shown = pyte.HistoryScreen(columns, lines, history=1000)
        pyte.ByteStream(shown).feed(self.raw)
        above = ["".join(line[place].data for place in range(columns)) for line in shown.history.top]
        return [line.rstrip() for line in [*above, *shown.display]]

    def text(self):
        """The screen as text."""
        return "\n".join(self.screen())
