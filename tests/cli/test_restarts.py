import json

import pytest
import toy

from sophron import cli
from sophron.science.lammps.segments import RESTART_END

HEAD = RESTART_END + b"\0"


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = toy.campaign(tmp_path, monkeypatch).root
    folder = root / "scratch" / "0123" / "produce-0"
    folder.mkdir(parents=True)
    (root / "records").mkdir(exist_ok=True)
    (folder / "run.0.a.restart").write_bytes(HEAD + bytes(64) + RESTART_END)
    (folder / "run.0.b.restart").write_bytes(HEAD + bytes(64))
    return root


def answer(root, *, kept, pruned):
    def entry(name):
        return {"step": "0123/produce-0", "file": name}

    content = {
        "step": "checkpoint_management-1",
        "agent": "checkpoint-management",
        "agent_digest": "0" * 64,
        "backend": "heuristic",
        "model": "m",
        "inputs": {},
        "answer": {
            "kept": [entry(name) for name in kept],
            "pruned": [entry(name) for name in pruned],
            "chosen": {"0123/produce-0": {"file": kept[0]}},
            "reason": "because",
        },
    }
    path = root / "answer.json"
    path.write_text(json.dumps(content))
    return str(path)


def test_whole_and_torn_files_are_told_apart(root, capsys):
    assert cli.main(["restarts", str(root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in sorted(lines)] == ["whole", "torn"]


def test_pruned_files_are_moved_and_not_deleted(root):
    path = answer(root, kept=["run.0.a.restart"], pruned=["run.0.b.restart"])
    assert cli.main(["restarts", str(root), "--apply", path]) == 0
    assert not (root / "scratch" / "0123" / "produce-0" / "run.0.b.restart").exists()
    assert (root / "scratch" / "pruned" / "0123" / "produce-0" / "run.0.b.restart").is_file()


def test_an_answer_that_does_not_fit_moves_nothing(root, capsys):
    path = answer(root, kept=["run.0.b.restart"], pruned=["run.0.a.restart"])
    assert cli.main(["restarts", str(root), "--apply", path]) == 2
    assert "not a whole restart file" in capsys.readouterr().err
    assert (root / "scratch" / "0123" / "produce-0" / "run.0.a.restart").is_file()
