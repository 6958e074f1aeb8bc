"""The list of restart files that the checkpoint agent is given."""

import os
from types import SimpleNamespace

from sophron.agents.memory import restart_files
from sophron.campaign.spec import engines
from sophron.interfaces.engine import RestartFile


def test_the_order_follows_the_time_step_where_a_copy_has_lost_the_times(tmp_path, monkeypatch):
    steps = {"run.0.a": 5000, "run.0.b": 10000, "run.1.a": 20000, "run.1.b": 15000}
    folder = tmp_path / "scratch" / "0123" / "produce-0"
    folder.mkdir(parents=True)
    for time, name in enumerate(sorted(steps, reverse=True)):
        (folder / name).write_bytes(b"restart")
        os.utime(folder / name, (time, time))
    files = [RestartFile(folder / name, timestep=step, valid=True) for name, step in steps.items()]
    engine = SimpleNamespace(restart_files=lambda _: files)
    monkeypatch.setattr(engines, "installed", lambda: [engine])
    listed = restart_files.list_restarts(tmp_path)
    assert [one["file"] for one in listed] == ["run.0.a", "run.0.b", "run.1.b", "run.1.a"]
    assert [one["order"] for one in listed] == [1, 2, 3, 4]
