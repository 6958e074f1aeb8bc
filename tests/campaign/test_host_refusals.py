"""What nobody signed does not run: forty changes of a workflow, each in the driver and in a job process by hand."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import toy
import warm_snakemake

from sophron.campaign.scaffold import adopt

HOST = toy.DATA / "host_changes"
PREFIX = ["--wrapper-prefix", "file:wraps/"]
STAGE = """\
  made:
    depends_on: []
    definition: {rules: [shell], results: {size: {file: out/shell.txt, size: true, unit: byte}}}
    criteria: [{id: there, expression: "size > 2", statement: "It has something in it."}]
    mechanical: {ranks: 1, threads: 1, accelerator: none, memory_mb: 500, runtime_min: 5, retries: 2, choices: {},
      ceilings: {cores: 1, memory_mb: 2000, runtime_min: 10}}
"""


@dataclass(frozen=True)
class Host:
    """A signed workflow. texts: its files as they were signed."""

    folder: Path
    texts: dict[Path, bytes]

    def restore(self) -> None:
        """Put every file back, and remove what was made."""
        shutil.rmtree("out", ignore_errors=True)
        shutil.rmtree("sub/out", ignore_errors=True)
        for path in _files(self.folder) - self.texts.keys():
            path.unlink()
        for path, text in self.texts.items():
            if path.read_bytes() != text:
                path.write_bytes(text)


def _files(folder: Path) -> set[Path]:
    skipped = {"campaign", ".snakemake", "out", "__pycache__"}
    return {path for path in folder.rglob("*") if path.is_file() and not skipped & {*path.parts}}


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Iterator[Host]:
    """The workflow with a campaign beside it, signed once for all changes."""
    top = tmp_path_factory.mktemp("changes")
    folder = top / "a workflow"
    shutil.copytree(HOST, folder)
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        for variable, value in toy.settings(top).items():
            patch.setenv(variable, value)
        adopt.adopt(folder, None, PREFIX, write=True, outer=False)
        made = toy.Campaign(folder / "campaign", toy.make_key(top / "key"))
        text = made.spec.read_text().replace("UNVERIFIED", "verified")
        text = text.replace("  templates: {}", "  also: [lock.txt]\n  templates: {}")
        made.spec.write_text(text[: text.index("  outputs:\n")] + STAGE)
        made.sign()
        yield Host(folder, {path: path.read_bytes() for path in _files(folder)})


def edit(path: str, old: str, new: str) -> Callable[[], None]:
    def change() -> None:
        text = Path(path).read_text()
        assert old in text, old
        Path(path).write_text(text.replace(old, new, 1))

    return change


def keeping_time(change: Callable[[], None], path: str) -> Callable[[], None]:
    def changed() -> None:
        before = Path(path).stat()
        change()
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    return changed


def other_snakefile() -> None:
    Path("Other.smk").write_text(Path("Snakefile").read_text().replace("cat {input} >>", "tac {input} >>"))


def other_configfile() -> None:
    Path("other.yaml").write_text("word: v\n")


def nothing() -> None:
    """Leave the files as they are: the command line is the change."""


def snakefile(old: str, new: str) -> Callable[[], None]:
    return edit("Snakefile", old, new)


CHANGES: dict[str, tuple[Callable[[], None], str, list[str], str]] = {
    "shell text": (snakefile("cat {input} >>", "tac {input} >>"), "shell", [], "changed: shell"),
    "constant in a shell line": (snakefile("echo hello", "echo bye"), "shell", [], "changed: GREETING"),
    "config in a shell line": (edit("config.yaml", "word: w", "word: v"), "shell", [], "changed: config[word]"),
    "source file": (edit("data/one.txt", "one", "ONE"), "shell", [], "data/one.txt: is not the file"),
    "script": (edit("scripts/script.py", "WORD +", "WORD * 2 +"), "script", [], "scripts/script.py"),
    "script of the same time": (
        keeping_time(edit("scripts/script.py", "WORD +", "WORD * 2 +"), "scripts/script.py"),
        "script",
        [],
        "scripts/script.py",
    ),
    "module of a script": (edit("scripts/pkg/words.py", '"w"', '"v"'), "script", [], "words.py"),
    "package of that module": (edit("scripts/pkg/__init__.py", '"s"', '"t"'), "script", [], "__init__.py"),
    "config that a script reads": (edit("config.yaml", "hidden: h", "hidden: i"), "script", [], "config.hidden"),
    "R script that a script sources": (edit("scripts/common.R", "1", "2"), "r", [], "common.R"),
    "config that an R script reads": (edit("config.yaml", "alpha: 1", "alpha: 3"), "r", [], "config.r.alpha"),
    "cell of a notebook": (edit("scripts/cells.ipynb", "print(1)", "print(2)"), "notebook", [], "cells.ipynb"),
    "script in a shell line": (edit("scripts/tool.sh", "echo tool", "echo hammer"), "bash", [], "tool.sh"),
    "file that it sources": (edit("scripts/inner.sh", "inner", "outer"), "bash", [], "inner.sh"),
    "environment file": (edit("envs/one.yaml", "python", "python=3.9"), "environment", [], "one.yaml"),
    "container": (snakefile("debian:12.1", "debian:12.2"), "environment", [], "changed: container"),
    "wrapper version": (snakefile("v1.0.0/echo", "v1.1.0/echo"), "wrapped", [], "wrapper"),
    "wrapper prefix": (nothing, "wrapped", ["--wrapper-prefix", "file:./wraps/"], "wrapper prefix"),
    "wrapper of the workflow": (edit("local_wrap/wrapper.py", '"l"', '"m"'), "local_wrapped", [], "wrapper.py"),
    "param": (snakefile('fixed="f"', 'fixed="g"'), "params_ab", [], "has other params or inputs"),
    "params function": (snakefile("len(wildcards.s) + 1", "len(wildcards.s) + 2"), "params_ab", [], "has other params"),
    "lambda over inputs": (snakefile("len(input) + 1", "len(input) + 2"), "lazy", [], "function params n"),
    "argument of a params function": (snakefile("(times, 2)", "(times, 3)"), "lazy", [], "arguments of params m"),
    "input function": (
        snakefile('return ["data/one.txt"]', 'return ["data/two.txt"]'),
        "chosen",
        [],
        "has other params",
    ),
    "run body": (snakefile("helper(toolbox.shout(", "(toolbox.shout("), "running", [], "function run"),
    "function of a run body": (snakefile("text.upper()", "text.lower()"), "running", [], "function helper"),
    "global of a run body": (snakefile('{"one": Path("data/one', '{"one": Path("data/two'), "running", [], "TABLE"),
    "module of a run body": (edit("lib/deeper.py", '"!"', '"?"'), "running", [], "deeper.py"),
    "included rule": (edit("rules/included.smk", "echo i", "echo j"), "included", [], "changed: shell"),
    "script of a module": (
        edit("sub/scripts/inner.py", "snakemake.params.word", '"w"'),
        "sub/out/inner.txt",
        [],
        "inner.py",
    ),
    "config of a module": (edit("config.yaml", "inner: i", "inner: j"), "sub/out/inner.txt", [], "has other params"),
    "rule that is used again": (snakefile('extra="e"', 'extra="f"'), "again", [], "has other params"),
    "script named by a wildcard": (edit("scripts/x.py", '"x"', '"y"'), "by_name_x", [], "has other params"),
    "module of an input script": (edit("lib/deeper.py", '"!"', '"?"'), "code", [], "lib/program.py: is not the file"),
    "rule with a digest": (snakefile("true sophron", "false sophron"), "digest", [], "changed: shell"),
    "output": (snakefile('"out/digest.txt",\n    params', '"out/other.txt",\n    params'), "other", [], "other params"),
    "further file": (edit("lock.txt", "tool==1", "tool==2"), "shell", [], "also lock.txt"),
    "shell prefix": (
        snakefile("import toolbox", 'import toolbox\n\nshell.prefix("set +e; ")'),
        "shell",
        [],
        "prefix",
    ),
    "shell": (snakefile("import toolbox", 'import toolbox\n\nshell.executable("/bin/sh")'), "shell", [], "shell."),
    "shell of a resource": (nothing, "shell", ["--set-resources", "shell:shell_exec=sh"], "other params"),
    "working directory": (snakefile("import toolbox", 'import toolbox\n\nworkdir: "."'), "shell", [], ""),
    "--config": (nothing, "shell", ["--config", "word=v"], "config[word]"),
    "--configfile": (other_configfile, "shell", ["--configfile", "config.yaml", "other.yaml"], "config[word]"),
    "memory above the ceiling": (nothing, "shell", ["--set-resources", "shell:mem_mb=101"], "memory_mb 101, above"),
    "threads above the ceiling": (nothing, "shell", ["--set-threads", "shell=3"], "cores 3, above"),
    "more parts": (nothing, "3-of-3", ["--set-scatter", "split=3"], "is not in the signed plan"),
    "a job beside the plan": (nothing, "params_xyz", [], "params-xyz is not in the signed plan"),
    "--touch": (snakefile("cat {input} >>", "tac {input} >>"), "shell", ["--touch"], "changed: shell"),
    "--no-hooks --force": (snakefile("cat {input} >>", "tac {input} >>"), "shell", ["--no-hooks"], "changed: shell"),
    "another Snakefile": (other_snakefile, "shell", ["-s", "Other.smk"], "changed: shell"),
    "group": (snakefile("cat {input} >>", "tac {input} >>"), "shell", ["--groups", "shell=g"], "changed: shell"),
}
"""What is changed: how, the output of a job, options of Snakemake, what the refusal says."""
del CHANGES["working directory"]  # the same folder by another word is no change
MECHANICAL = {
    "fewer threads": (snakefile("threads: 2", "threads: 1"), "shell", []),
    "a comment": (snakefile("rule shell:", "# greets\nrule shell:"), "shell", []),
    "a comment in a run body": (
        snakefile("        Path(output[0])", "        # words\n        Path(output[0])"),
        "running",
        [],
    ),
    "local rules": (snakefile("rule shell:", "localrules:\n    shell,\n\n\nrule shell:"), "shell", []),
    "config that no rule reads": (nothing, "shell", ["--config", "unused=2"]),
    "priority and message": (
        snakefile("    threads: 2", '    threads: 2\n    priority: 5\n    message:\n        "m"'),
        "shell",
        [],
    ),
    "default resources": (nothing, "bash", ["--default-resources", "disk_mb=100"]),
    "a script that was only touched": (lambda: os.utime("scripts/script.py"), "script", []),
    "lines that end as on Windows": (
        lambda: Path("Snakefile").write_bytes(Path("Snakefile").read_bytes().replace(b"\n", b"\r\n")),
        "shell",
        [],
    ),
}
"""What does not count: how, the output of a job, options of Snakemake."""
RULES = {
    "params_ab": "params:s=ab",
    "params_xyz": "params:s=xyz",
    "by_name_x": "by_name:s=x",
    "3-of-3": "scattered:scatteritem=3-of-3",
}
RULES |= {"sub/out/inner.txt": "other_inner:", "other": "digest:"}


def driver(outputs: Sequence[str], options: list[str]) -> str:
    """What a driver says that is to make some outputs, with its exit code."""
    return _said(["-c", "4", "--nocolor", "--force", *map(_path, outputs), *PREFIX, *options])


def job_process(outputs: Sequence[str], options: list[str]) -> str:
    """What a process says that was started by hand as executors start one for a job, or for a group of jobs."""
    jobs = [RULES.get(output, f"{output}:") for output in outputs]
    options = [word for word in options if word != "--no-hooks"]
    words = ["-c", "4", "--nocolor", "--target-jobs", *jobs, "--mode", "remote", "--no-hooks", "--force", "--nolock"]
    return _said([*words, "--allowed-rules", *(job.partition(":")[0] for job in jobs), *PREFIX, *options])


def _path(output: str) -> str:
    return output if "/" in output else f"out/{output}.txt"


def _said(words: list[str]) -> str:
    done = warm_snakemake.run(words, Path.cwd())
    return f"{done.stdout}\nexit {done.returncode}"


QUICK = ("module of a script", "shell prefix")


@pytest.mark.parametrize("process", [driver, job_process])
@pytest.mark.parametrize("name", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.slow) for one in CHANGES])
def test_a_change_that_nobody_signed_is_refused(signed, name, process):
    change, output, options, sentence = CHANGES[name]
    try:
        change()
        said = process([output], options)
    finally:
        signed.restore()
    assert "sophron: " in said, said
    assert sentence in said.partition("sophron: ")[2], said
    assert "exit 2" in said, said
    assert "rule " + "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("process", [driver, job_process])
@pytest.mark.parametrize("name", MECHANICAL)
def test_a_change_of_what_is_not_signed_runs(signed, name, process):
    change, output, options = MECHANICAL[name]
    try:
        change()
        said = process([output], options)
        made = Path(f"out/{output}.txt").is_file()
    finally:
        signed.restore()
    assert "exit 0" in said, said
    assert made


WITHOUT_PROGRAM = set() if shutil.which("Rscript") else {"r"}
EXECUTED = sorted(
    {output for _, output, *_ in CHANGES.values()} - {"notebook", "other", "3-of-3", "params_xyz"} - WITHOUT_PROGRAM
)


@pytest.mark.slow
@pytest.mark.parametrize("process", [driver, job_process])
def test_each_signed_job_runs(signed, process):
    signed.restore()
    said = process(EXECUTED, [])
    made = [output for output in EXECUTED if Path(_path(output)).is_file()]
    signed.restore()
    assert "exit 0" in said, said
    assert made == EXECUTED
