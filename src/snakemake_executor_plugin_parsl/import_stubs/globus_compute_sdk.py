"""Not here, as far as Parsl's processes in a block are concerned: they do not use it, and it is slow to import."""

raise ImportError("left out of Parsl's own processes; steps have it")
