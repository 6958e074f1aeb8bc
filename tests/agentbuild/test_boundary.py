"""The edit boundary: what a diff must not reach is not reached, by path or by content, and a broken agent rolls back."""

import compileall
import difflib

import pytest

from sophron.agentbuild import aud, contract, mutation
from sophron.records.files import resource

KNOWLEDGE = """# How it is done

Begin with the scale and the background, because every later parameter leans on both of them, and a cell that is
refined on a wrong background runs away. Only when the difference curve has no slope may the widths of the peaks move.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract") / "mine"
    contract.create(folder, "electron diffraction", "A. Person")
    (folder / "knowledge" / "procedures.md").write_text(KNOWLEDGE)
    return contract.load(folder)


@pytest.fixture
def parent(made, tmp_path):
    folder = tmp_path / "parent"
    aud.copy(made.blank, folder)
    return folder


def diff(name, old, new):
    """A unified diff of one file; None: it is not there."""
    lines = [(text or "").splitlines(keepends=True) for text in (old, new)]
    heads = ("/dev/null" if old is None else f"a/{name}", "/dev/null" if new is None else f"b/{name}")
    return "".join(difflib.unified_diff(*lines, *heads))


def edit(parent, name, old, new):
    """A diff that replaces text in a file of the agent."""
    text = (parent / name).read_text()
    assert old in text
    return diff(name, text, text.replace(old, new, 1))


def tried(made, parent, change):
    """What becomes of a diff; the parent is never touched, and there is an agent if and only if it stands."""
    target, before = parent.with_name("target"), aud.aud_digest(parent)
    found = mutation.mutate(parent, change, target, made)
    assert aud.aud_digest(parent) == before
    assert target.exists() == found.stands
    return found


def test_each_open_surface_may_change(made, parent):
    changes = [
        edit(parent, "recipe.yaml", "{}", "rungs: [scale]"),
        edit(parent, "agent.md", "Analyse the sample.", "Look at the sample first."),
        edit(parent, "wiring.yaml", "sample__describe", "read_file"),
        diff("helpers/counting.py", None, "def total(counts):\n    return sum(counts)\n"),
    ]
    found = tried(made, parent, "".join(changes))
    assert found.refusal == ""
    assert found.changed == ("agent.md", "helpers/counting.py", "recipe.yaml", "wiring.yaml")
    assert aud.definition(parent.with_name("target"), made.tools["servers"]).front["tools"] == ["read_file"]


def test_a_miscounted_hunk_still_applies(made, parent):
    change = edit(parent, "recipe.yaml", "{}", "a: 1\nb: 2").replace("@@ -1,2 +1,3 @@", "@@ -1,9 +1,4 @@")
    assert "@@ -1,9 +1,4 @@" in change
    assert tried(made, parent, change).stands


FROZEN = {
    "the rubric": diff("rubric.yaml", None, "title: mine\n"),
    "a reference": diff("references/first.yaml", None, "about: mine\n"),
    "the knowledge base": diff("knowledge/procedures.md", None, "mine\n"),
    "the judge's prompt": diff("score.md", None, "mine\n"),
    "the handles": diff("models.yaml", None, "agent: {backend: openai}\n"),
    "a surface that is not opened": diff("adapter/server.py", None, "x = 1\n"),
    "a file of no surface": diff("notes.txt", None, "mine\n"),
    "another case of a name": diff("Recipe.yaml", None, "a: 1\n"),
    "an ending that only looks right": diff("helpers/a.py\u200b", None, "x = 1\n"),
    "a folder too deep": diff("helpers/more/a.py", None, "x = 1\n"),
    "bytecode": diff("__pycache__/a.pyc", None, "x = 1\n"),
    "bytecode of a helper": diff("helpers/__pycache__/a.pyc", None, "x = 1\n"),
    "a hidden file": diff("helpers/.a.py", None, "x = 1\n"),
    "the folder above": diff("../outside.yaml", None, "a: 1\n"),
    "a way round": diff("helpers/../../outside.yaml", None, "a: 1\n"),
    "an absolute path": diff("/tmp/outside.yaml", None, "a: 1\n").replace("b//tmp", "/tmp"),
    "a link": (
        "diff --git a/helpers/a.py b/helpers/a.py\nnew file mode 120000\n--- /dev/null\n+++ b/helpers/a.py\n"
        "@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
    ),
    "a program": (
        "diff --git a/helpers/a.py b/helpers/a.py\nnew file mode 100755\n--- /dev/null\n+++ b/helpers/a.py\n"
        "@@ -0,0 +1 @@\n+x = 1\n"
    ),
    "a renamed definition": (
        "diff --git a/agent.md b/helpers/agent.md\nsimilarity index 100%\nrename from agent.md\nrename to helpers/agent.md\n"
    ),
    "a copied definition": (
        "diff --git a/agent.md b/other.md\nsimilarity index 100%\ncopy from agent.md\ncopy to other.md\n"
    ),
    "binary data": "diff --git a/recipe.yaml b/recipe.yaml\nGIT binary patch\nliteral 3\nKcmZ\n",
    "nothing": "",
    "prose": "I would change the recipe so that it frees the cell first.\n",
}


@pytest.mark.parametrize("attempt", FROZEN)
def test_what_is_frozen_stays(made, parent, attempt):
    outside = sorted(parent.parent.iterdir())
    found = tried(made, parent, FROZEN[attempt])
    assert not found.stands
    assert found.refusal
    assert "\n" not in found.refusal
    assert sorted(parent.parent.iterdir()) == outside
    assert contract.load(made.folder).digest == made.digest


def test_bytecode_that_an_installer_made_is_not_of_the_agent(made, parent):
    before = aud.packed(parent)
    assert compileall.compile_dir(parent / "adapter", quiet=1)
    assert list(parent.rglob("*.pyc"))
    assert aud.packed(parent) == before
    aud.check(parent, made)
    assert tried(made, parent, edit(parent, "recipe.yaml", "{}", "rungs: [scale]")).stands


def test_a_link_in_two_steps_writes_nowhere(made, parent, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = (
        "diff --git a/helpers b/helpers\nnew file mode 120000\n--- /dev/null\n+++ b/helpers\n"
        f"@@ -0,0 +1 @@\n+{outside}\n\\ No newline at end of file\n"
    )
    assert not tried(made, parent, link + diff("helpers/a.py", None, "x = 1\n")).stands
    assert not any(outside.iterdir())


def test_the_front_matter_is_frozen_and_the_prompt_is_not(made, parent):
    for old, new in (
        ("rank: 2", "rank: 1"),
        ("tools: [sample__*]", "tools: [run_command]"),
        ("dollars: 4.0", "dollars: 400.0"),
    ):
        assert "front matter is frozen" in tried(made, parent, edit(parent, "agent.md", old, new)).refusal
    gone = diff("agent.md", (parent / "agent.md").read_text(), None)
    assert not tried(made, parent, gone).stands


BROKEN = {
    "wiring beyond the inventory": ("wiring.yaml", "sample__describe", "run_command", "is not in the inventory"),
    "wiring that is none": ("wiring.yaml", "tools:", "tool:", "unknown key"),
    "a recipe that is no YAML": ("recipe.yaml", "{}", "{a: [}", "recipe.yaml"),
    "a prompt without its sample": ("agent.md", "{{ sample }}", "the sample", "does not use this input"),
    "a prompt with an input of its own": ("agent.md", "Analyse", "{{ answer }} Analyse", "which is no input"),
}


@pytest.mark.parametrize("attempt", BROKEN)
def test_an_agent_that_could_not_be_asked_is_rolled_back(made, parent, attempt):
    name, old, new, sentence = BROKEN[attempt]
    assert sentence in tried(made, parent, edit(parent, name, old, new)).refusal


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def broken(:\n", "is no Python"),
        ("import a_module_that_is_not_there\n", "ModuleNotFoundError"),
        ("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9', timeout=2)\n", "cannot be imported"),
        ("open('/etc/passwd').read()\n", "cannot be imported"),
        ("raise SystemExit(3)\n", "exit code 3"),
    ],
)
def test_helpers_are_imported_with_nothing_granted(made, parent, code, sentence):
    found = tried(made, parent, diff("helpers/a.py", None, code))
    assert sentence in found.refusal


def test_text_of_the_knowledge_base_does_not_cross(made, parent):
    passage = " ".join(KNOWLEDGE.splitlines()[2:])
    for name, old, new in (
        ("agent.md", "Analyse the sample.", passage),
        ("recipe.yaml", "{}", f"note: >-\n  {passage.upper()}"),
        ("recipe.yaml", "{}", "".join(f"# * {line}\n" for line in KNOWLEDGE.splitlines()) + "{}"),
    ):
        found = tried(made, parent, edit(parent, name, old, new))
        assert "stand word for word in the producer knowledge base" in found.refusal
        assert found.shared_words > 20
    hidden = passage.replace("the", "th\u200be")
    helper = f'"""{hidden}"""\n' + "# padding that means nothing at all\n" * 400
    assert not tried(made, parent, diff("helpers/a.py", None, helper)).stands


def test_text_does_not_cross_in_small_portions(made, parent, tmp_path):
    words = KNOWLEDGE.split()[5:]
    current = parent
    for number in range(6):
        part = " ".join(words[number * 9 : number * 9 + 9])
        target = tmp_path / f"step-{number}"
        change = edit(current, "recipe.yaml", "{}", f"# {part}\n{{}}")
        found = mutation.mutate(current, change, target, made)
        if not found.stands:
            break
        current = target
    assert not found.stands
    assert number == 2  # 9 words each, at most 20 of the whole agent


def test_an_agent_has_a_size(made, parent):
    assert "longer than" in tried(made, parent, diff("helpers/a.py", None, "x = 1\n" * 20000)).refusal
    many = "".join(diff(f"helpers/a{number}.py", None, "x = 1\n") for number in range(12))
    assert "files, at most" in tried(made, parent, many).refusal


def test_a_surface_may_be_opened_for_a_build(made, parent, tmp_path):
    contract.create(tmp_path / "open", "electron diffraction", "A. Person")
    path = tmp_path / "open" / "boundary.yaml"
    path.write_text(path.read_text().replace("similarity:", "opened: [tool server adapter]\nsimilarity:"))
    opened = contract.load(tmp_path / "open")
    assert tried(opened, parent, diff("adapter/server.py", None, "x = 1\n")).stands


def test_shared_words_are_counted_wherever_they_stand():
    known = mutation.shingles(["one two three four five six"], 4)
    assert mutation.shared_words("zero ONE, two-three *four* seven", known, 4) == ["one", "two", "three", "four"]
    assert mutation.shared_words("one two three seven four five six", known, 4) == []


def test_the_templates_of_a_contract_are_shipped():
    assert (resource(*contract.TEMPLATES) / "blank" / "agent.md").is_file()
