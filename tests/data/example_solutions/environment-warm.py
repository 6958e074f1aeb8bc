import subprocess
from pathlib import Path

Path("env_activate.sh").write_text(
    'export PATH="$PWD/shared/envs/linefit/bin:$PATH" PYTHONPATH="$PWD/shared/envs/linefit/lib" PYTHONDONTWRITEBYTECODE=1\n'
)
subprocess.run(". ./env_activate.sh && linefit points.txt > fit.json", shell=True, check=True)
