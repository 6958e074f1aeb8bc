import subprocess
import sys
from pathlib import Path

Path("plot_wave.py").write_text("""
import math
import sys

from PIL import Image, ImageDraw

periods = int(sys.argv[1])
picture = Image.new("RGB", (800, 400), "white")
points = [(20 + x, 200 - 150 * math.sin(2 * math.pi * periods * x / 760)) for x in range(761)]
ImageDraw.Draw(picture).line(points, fill="#ff0000", width=3)
picture.save(sys.argv[2])
""")
subprocess.run([sys.executable, "plot_wave.py", "3", "wave.png"], check=True)
