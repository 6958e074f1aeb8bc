from pathlib import Path

Path("note.txt").write_text(
    "Run 318 was stopped at 15:03. The gas pressure fell from 0.98 to 0.88 bar within an hour, because bottle 2 was empty and the\n"
    "exchange valve did not switch to bottle 3. The current rose, and the drift voltage of channel 4 tripped at 15:02.\n"
    "Before you start: look at the valve, wait for 0.98 bar, and ramp channel 4 slowly.\n"
)
