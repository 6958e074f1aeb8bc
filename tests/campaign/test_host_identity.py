"""Identity of Python code, scripts and values of a host workflow, without a run of Snakemake."""

import os
import types
from pathlib import Path

import pytest

from sophron.campaign.host_workflow import file_digests, script_files
from sophron.campaign.host_workflow.function_code import FunctionCode
from sophron.campaign.host_workflow.plain_values import Places, Plain
from sophron.campaign.planning import host_templates
from sophron.campaign.planning.host_plan import HostPlan
from sophron.campaign.spec.spec import JobTemplate


def parts(tmp_path: Path, source: str, name: str = "body", **scope: object) -> dict:
    """What a function of a Snakefile in `tmp_path` consists of."""
    path = tmp_path / "Snakefile"
    found = {"config": {"a": {"b": 1, "c": 2}, "d": 3}, **scope}
    exec(compile(source, str(path), "exec"), found)
    code = FunctionCode(Plain(Places.of(tmp_path, tmp_path)), (tmp_path,), found["config"], frozenset([str(path)]))
    code.add("it", found[name])
    return code.parts


DIFFERENT = {
    "an argument of partial": (
        "import functools\ndef f(x, wildcards): pass\nbody = functools.partial(f, 1)",
        "import functools\ndef f(x, wildcards): pass\nbody = functools.partial(f, 2)",
    ),
    "a path": (
        "from pathlib import Path\nX = Path('a')\ndef body(): return X",
        "from pathlib import Path\nX = Path('b')\ndef body(): return X",
    ),
    "a method": (
        "class C:\n    def f(self): return 1\nX = C()\ndef body(): return X.f()",
        "class C:\n    def f(self): return 2\nX = C()\ndef body(): return X.f()",
    ),
    "a method of a base": (
        "class B:\n    def f(self): return 1\nclass C(B): pass\nX = C()\ndef body(): return X.f()",
        "class B:\n    def f(self): return 2\nclass C(B): pass\nX = C()\ndef body(): return X.f()",
    ),
    "the state of an object": (
        "class C:\n    def __init__(self): self.x = 1\nX = C()\ndef body(): return X",
        "class C:\n    def __init__(self): self.x = 2\nX = C()\ndef body(): return X",
    ),
    "a callable object": (
        "class C:\n    def __call__(self, wildcards): return 1\nbody = C()",
        "class C:\n    def __call__(self, wildcards): return 2\nbody = C()",
    ),
    "a table": (
        "import pandas\nX = pandas.DataFrame({'a': [1]})\ndef body(): return X",
        "import pandas\nX = pandas.DataFrame({'a': [2]})\ndef body(): return X",
    ),
    "a variable of a closure": (
        "def make(x):\n    def inner(): return x\n    return inner\nbody = make(1)",
        "def make(x):\n    def inner(): return x\n    return inner\nbody = make(2)",
    ),
    "a default": ("def body(x=1): return x", "def body(x=2): return x"),
    "a decorated function": (
        "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(): return f()\n    return g\n@d\ndef body(): return 1",
        "import functools\ndef d(f):\n    @functools.wraps(f)\n    def g(): return f()\n    return g\n@d\ndef body(): return 2",
    ),
    "a method as a function": (
        "class C:\n    def f(self): return 1\nbody = C().f",
        "class C:\n    def f(self): return 2\nbody = C().f",
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_code_is_another_identity(tmp_path, name):
    one, other = DIFFERENT[name]
    if "pandas" in one:
        pytest.importorskip("pandas")
    assert parts(tmp_path, one) == parts(tmp_path, one)
    assert parts(tmp_path, one) != parts(tmp_path, other)


CONFIG = {
    "config['a']['b']": {"config.a.b"},
    "config.get('d')": {"config"},
    "workflow.config['d']": {"config"},
    "config['d'] + config['a']['c']": {"config.d", "config.a.c"},
    "config[X]": {"config"},
    "config['nothing']": {"config.nothing"},
}


@pytest.mark.parametrize("expression", CONFIG)
def test_the_config_that_code_reads_counts(tmp_path, expression):
    found = parts(tmp_path, f"X = 'd'\ndef body(): return {expression}", workflow=None)
    assert {name for name in found if name.startswith("config")} == CONFIG[expression]


def test_two_helpers_of_one_name_both_count(tmp_path):
    one = types.ModuleType("one")
    exec(compile("def help(): return 1\ndef first(): return help()", str(tmp_path / "one.py"), "exec"), one.__dict__)
    source = "def help(): return {}\ndef body(): return first() + help()"
    found = [parts(tmp_path, source.format(value), first=one.first) for value in (2, 3)]
    assert found[0] != found[1]
    assert len([name for name in found[0] if name.startswith("function help")]) == 2


def test_installed_packages_inside_the_workflow_are_not_followed(tmp_path):
    folder = tmp_path / ".venv" / "lib" / "site-packages"
    folder.mkdir(parents=True)
    scope: dict = {}
    exec(compile("def library(): return 1", str(folder / "library.py"), "exec"), scope)
    assert set(parts(tmp_path, "def body(): return library()", library=scope["library"])) == {"function it"}


def test_folders_are_taken_out_of_texts_as_a_whole(tmp_path):
    strip = Places.of(tmp_path / "a", tmp_path / "a" / "workflow").strip
    assert strip(f"x {tmp_path}/a/workflow/s.py {tmp_path}/a/data") == "x <workflow>/s.py <workdir>/data"
    assert strip(f"{tmp_path}/ab/c {tmp_path}/a-b") == f"{tmp_path}/ab/c {tmp_path}/a-b"


SCRIPTS = {
    "from pkg.sub import x": {"pkg/__init__.py", "pkg/sub.py"},
    "import pkg.sub": {"pkg/__init__.py", "pkg/sub.py"},
    "import sys\nsys.path.insert(0, '../lib')\nimport deep": {"../lib/deep.py"},
    "import subprocess\nsubprocess.run(['bash', 'tool.sh'])": {"tool.sh", "common"},
    "import numpy": set(),
}


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """Scripts beside each other, in a package, and in a folder that only a path names."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "scripts/pkg/__init__.py": "",
        "scripts/pkg/sub.py": "x = 1\n",
        "scripts/pkg/inner.py": "from ..other import y\nfrom . import sub\n",
        "scripts/other.py": "y = 1\n",
        "lib/deep.py": "",
        "scripts/tool.sh": "source common\n",
        "scripts/common": "echo\n",
        "scripts/a.R": "",
        "scripts/b.jl": "",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_script_is_all_files_of_the_workflow_that_it_executes(tree, text):
    path = tree / "scripts" / "run.py"
    path.write_text(text)
    found = {os.path.relpath(one.resolve(), path.parent) for one in script_files.closure(path, text)} - {"run.py"}
    assert found == SCRIPTS[text]


def test_relative_imports_go_up(tree):
    path = tree / "scripts" / "pkg" / "inner.py"
    assert {one.name for one in script_files.closure(path, path.read_text())} == {"inner.py", "other.py", "sub.py"}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("x.R", 'source(file.path(snakemake@scriptdir, "a.R"))', "a.R"),
        ("x.R", "box::use(./a)\nsource('scripts/a.R')", "a.R"),
        ("x.jl", 'include(joinpath(@__DIR__, "b.jl"))', "b.jl"),
        ("x.sh", 'cd "$(dirname "$0")"; . ./common', "common"),
        ("x.sh", 'bash "$HERE/tool.sh"', "tool.sh"),
    ],
)
def test_what_other_languages_source_counts(tree, name, text, wanted):
    assert wanted in {path.name for path in script_files.closure(tree / "scripts" / name, text)}


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("x.py", "snakemake.config['a']['b']", {("a", "b")}),
        ("x.py", "main(snakemake)\ndef main(smk): return smk.config['a']", {("a",)}),
        ("x.py", "getattr(snakemake, 'config')", {()}),
        ("x.R", 'snakemake@config[["a"]][["b"]] + snakemake@config$c', {("a", "b"), ("c",)}),
        ("x.R", "y <- snakemake@config", {()}),
        ("x.R", "s <- snakemake; s@config$a", {()}),
        ("x.sh", "echo ${snakemake_config[a]}", {()}),
        ("x.jl", 'snakemake.config["a"]', {("a",)}),
        ("x.ipynb", '{"metadata": {"language_info": {"name": "R"}}, "cells": [{"source": "snakemake@config"}]}', {()}),
        ("x.R", "print(1)", set()),
    ],
)
def test_the_config_that_a_script_reads_counts(name, text, wanted):
    assert script_files.config_keys(text, Path(name)) == wanted


def test_variables_that_a_shell_text_does_not_set_are_named():
    text = 'A=1; for f in *; do echo $f $A ${HOST_DB} "$1"; done; read -r line; echo $line \\$NOT'
    assert script_files.shell_variables(text) == {"HOST_DB"}
    assert script_files.unseen("import os\nos.environ['X']", Path("a.py")) == {"environment variables"}


def test_the_digest_of_a_big_file_is_read_once_until_the_file_is_another(tmp_path, monkeypatch):
    path, read = tmp_path / "big", []
    path.write_bytes(b"x" * (file_digests.LARGEST + 1))
    digest = file_digests.file_digest
    monkeypatch.setattr(file_digests, "file_digest", lambda one: (read.append(one), digest(one))[1])
    first = file_digests.FileDigests(tmp_path).full(path)
    assert file_digests.FileDigests(tmp_path).full(path) == first
    assert len(read) == 1
    path.write_bytes(b"y" * (file_digests.LARGEST + 1))
    assert file_digests.FileDigests(tmp_path).full(path) != first


def test_a_template_is_proposed_from_what_ran_before(tmp_path, monkeypatch):
    made = [("part", f"out/{i}.txt", []) for i in (1, 2, 12)] + [("named", "n/a.txt", []), ("other", "x", [])]
    monkeypatch.setattr(host_templates, "remembered", lambda _: iter(made))
    patterns = {"part": ("out/{i}.txt",), "named": ("n/{s}.txt",), "never": ("z/{k}",), "bounded": ("y/{k}",)}
    plan = HostPlan((), {}, {}, {}, dict.fromkeys(patterns, "d"), patterns=patterns, checkpoints=True)
    signed = {"bounded": JobTemplate({"k": "x"}, 1)}
    assert host_templates.proposed(plan, tmp_path, signed) == {
        "part": JobTemplate({"i": "[0-9]+"}, 3),
        "named": JobTemplate({"s": "a"}, 1),
        "never": JobTemplate({"k": "[^/]+"}, 0),
    }
    assert host_templates.as_yaml("part", JobTemplate({"i": "[0-9]+"}, 3)) == (
        'part: {wildcards: {i: "[0-9]+"}, at_most: 3}'
    )
    assert not host_templates.proposed(HostPlan((), {}, {}, {}), tmp_path, {})
