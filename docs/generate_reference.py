"""MkDocs hook: pages that are made from what they describe: schemas, verbs, pitfalls, measured numbers, the README."""

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from sophron import cli

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "schemas"
BOUNDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "above {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "below {}"),
    ("multipleOf", "a multiple of {}"),
    ("pattern", "`{}`"),
    ("default", "default `{}`"),
)
STAGES = {
    "viscosity": (
        "build",
        "relax",
        "equilibrate",
        "produce",
        "green_kubo",
        "shear",
        "rouse",
        "diffusion",
        "cross_check",
    ),
    "conductivity": (
        "build",
        "equilibrate",
        "green_kubo_flux",
        "green_kubo",
        "mueller_plathe",
        "extrapolate",
        "displace",
        "forces",
        "transport",
    ),
    "chain_conformation": ("build", "equilibrate", "sample", "compare"),
    "rietveld": ("data", "refine", "series", "compare"),
    "sequence_bo": ("warm_up", "rounds", "validate", "compare"),
    "agent_build": ("sample", "build"),
    "workflow": ("stage",),
}
UNITS = {
    "viscosity": "Everything is in LJ units: sigma, epsilon, tau.",
    "conductivity": "Units are those of the spec: LAMMPS's `metal` or `lj`.",
    "chain_conformation": "Everything is in LJ units: sigma, epsilon, tau.",
    "sequence_bo": "Everything is in LJ units: sigma, epsilon, tau.",
    "rietveld": "Angles are 2 theta in degrees, lengths in angstrom.",
    "workflow": "Stages have the names that a campaign gives them; each is some rules of a workflow of your own. What "
    "campaign.yaml says of that workflow stands under `workflow` in [campaign.yaml](campaign.md).",
    "agent_build": "Rounds are counted from 1; what a dimension of the rubric is, its contract says.",
}


LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# What the repository has in place of a page that is generated; links lead to it there, and to the page in the site.
GENERATED = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/results": "explanation/measured.md",
    "schemas/agents": "reference/agents.md",
    "schemas/campaign.schema.yaml": "reference/campaign.md",
    "workflow/agents/pitfalls": "reference/pitfalls.md",
}
LOG = logging.getLogger("mkdocs.plugins")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    pages = {
        "index.md": from_top("README.md"),
        "contributing.md": from_top("CONTRIBUTING.md"),
        "reference/cli.md": command_line(),
        "reference/campaign.md": schema_page("campaign", "campaign.yaml"),
        "reference/viscosity.md": stages_page("viscosity"),
        "reference/conductivity.md": stages_page("conductivity"),
        "reference/chain_conformation.md": stages_page("chain_conformation"),
        "reference/rietveld.md": stages_page("rietveld"),
        "reference/sequence_bo.md": stages_page("sequence_bo"),
        "reference/agent_build.md": stages_page("agent_build"),
        "reference/workflow.md": stages_page("workflow"),
        "reference/agents.md": agents_page(),
        "reference/documents.md": documents_page(),
        "reference/pitfalls.md": pitfalls_page(),
        "explanation/measured.md": measured_page(),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def from_top(name: str) -> str:
    """A file of the top folder, its links as seen from the documentation."""
    return links_of_site((ROOT / name).read_text(encoding="utf-8"), ROOT / name, ROOT / "docs")


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links of the repository into links of the site; warn of one that is dead in the repository."""
    source = page.file.abs_src_path
    return links_of_site(markdown, Path(source), Path(source).parent) if source else markdown


def links_of_site(text: str, source: Path, folder: Path) -> str:
    """`text` of the file `source`, its links as its page in `folder` needs them."""

    def of_site(found: re.Match[str]) -> str:
        path = (source.parent / found[1]).resolve()
        if not path.exists():
            LOG.warning("%s: links to %s, which is not in the repository", source.relative_to(ROOT), found[1])
        target = GENERATED.get(path.relative_to(ROOT).as_posix()) if path.is_relative_to(ROOT) else None
        page = ROOT / "docs" / target if target else path
        return f"]({Path(os.path.relpath(page, folder)).as_posix()}{found[2] or ''})"

    return LINK.sub(of_site, text)


def command_line() -> str:
    """What every verb prints for --help."""
    lines = ["# Command line", "", "What `sophron VERB --help` prints."]
    modules = [(verb, cli._module(verb)) for verb in cli.verbs()]  # noqa: SLF001 - made for the command line alone
    for title, inner in (("Verbs for people", False), ("Verbs that rules call", True)):
        lines += ["", f"## {title}"]
        for verb, module in modules:
            if getattr(module, "FOR_RULES", False) is inner:
                parser = cli._parser(verb, module)  # noqa: SLF001
                lines += ["", f"### sophron {verb}", "", "```text", parser.format_help().strip(), "```"]
    return "\n".join(lines)


def load(path: Path) -> Any:
    """A YAML file of ours."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def schema_page(name: str, title: str) -> str:
    """A page for one schema."""
    schema = load(SCHEMAS / f"{name}.schema.yaml")
    return "\n".join([f"# {title}", "", schema.get("description", ""), "", *table(schema, schema)])


def agents_page() -> str:
    """What every agent answers."""
    lines = [
        "# Answers of agents",
        "",
        "The installed definitions are in `workflow/agents/`; `sophron agent show` prints one.",
    ]
    for path in sorted((SCHEMAS / "agents").glob("*.schema.yaml")):
        name, schema = path.name.removesuffix(".schema.yaml"), load(path)
        lines += ["", f"## {name}", "", schema.get("description", ""), "", *table(schema, schema)]
    return "\n".join(lines)


def stages_page(kind: str) -> str:
    """Definition and result of every stage of a kind."""
    lines = [f"# Stages of the {kind} kind", "", UNITS[kind]]
    for stage in STAGES[kind]:
        schema = load(SCHEMAS / kind / f"{stage}.schema.yaml")
        lines += ["", f"## {stage}", "", schema.get("description", "")]
        for part, says in (("definition", "What `campaign.yaml` gives."), ("result", "What criteria may compare.")):
            lines += ["", f"### {stage}: {part}", "", says, "", *table(schema["$defs"][part], schema)]
    return "\n".join(lines)


def documents_page() -> str:
    """All other schemas."""
    lines = ["# Other documents", "", "What else crosses a rule boundary, or is read by other programs."]
    for path in [*sorted(SCHEMAS.glob("*.schema.yaml")), *sorted((SCHEMAS / "build").glob("*.schema.yaml"))]:
        name, schema = path.relative_to(SCHEMAS).as_posix().removesuffix(".schema.yaml"), load(path)
        if name != "campaign":
            lines += ["", f"## {name}", "", schema.get("description", ""), "", *table(schema, schema)]
    return "\n".join(lines)


def table(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> list[str]:
    """Keys of an object, nested ones by their path, as a Markdown table."""
    rows = [f"| `{path}` | {kind} | {needed} | {says} |" for path, kind, needed, says in keys(schema, whole, "")]
    return ["| key | type | | meaning |", "|---|---|---|---|", *rows] if rows else ["No keys."]


def keys(schema: Mapping[str, Any], whole: Mapping[str, Any], path: str) -> Iterator[tuple[str, str, str, str]]:
    """(path, type, whether required, meaning) of each key, depth first."""
    schema = resolved(schema, whole)
    for name, inner in schema.get("properties", {}).items():
        part = resolved(inner, whole)
        where = f"{path}.{name}" if path else name
        yield where, kind_of(part), "" if name in schema.get("required", []) else "optional", meaning(inner, part)
        yield from keys(part, whole, where)
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from keys(schema["additionalProperties"], whole, f"{path}.*")
    if "items" in schema:
        yield from keys(schema["items"], whole, f"{path}[]")


def resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema behind a local `$ref`."""
    while "$ref" in schema:
        found: Any = whole
        for key in schema["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        schema = found
    return schema


def kind_of(schema: Mapping[str, Any]) -> str:
    """Type, or the allowed words."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "any")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)


def meaning(written: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """Description and bounds."""
    text = " ".join(str(written.get("description", schema.get("description", ""))).split())
    bounds = [shape.format(schema[key]) for key, shape in BOUNDS if key in schema]
    return (f"{text} ({', '.join(bounds)})" if bounds else text).replace("|", "\\|")


def pitfalls_page() -> str:
    """The catalogue, one section a pitfall."""
    lines = ["# Pitfalls", "", "What `sophron review` looks for. A campaign may add its own in `agents/pitfalls/`."]
    for path in sorted((ROOT / "workflow" / "agents" / "pitfalls").glob("*.yaml")):
        pitfall = load(path)
        lines += [
            "",
            f"## {pitfall['title']}",
            "",
            f"`{pitfall['id']}`. {pitfall['what']} {pitfall['why'].strip()}",
            "",
        ]
        lines += [f"Safeguard: {pitfall['safeguard'].strip()}", ""]
        lines += [
            f"- [{source['doi']}](https://doi.org/{source['doi']}): {source['about']}" for source in pitfall["sources"]
        ]
    return "\n".join(lines)


def measured_page() -> str:
    """Every number that a benchmark left in bench/results/, as it stands there."""
    lines = ["# What was measured", "", "Made from `bench/results/*.json`; each file names its machine and commit."]
    lines += ["Run a benchmark again with `python bench/<name>.py`."]
    for path in sorted((ROOT / "bench" / "results").glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        machine = content.get("machine", {})
        where = f"{machine.get('cores', '?')} cores of {machine.get('processor', 'an unnamed processor')}"
        lines += ["", f"## {path.stem.replace('_', ' ')}", "", f"{content.get('date', '')}, {where}.", ""]
        lines += ["```yaml", yaml.safe_dump(content.get("result", {}), sort_keys=False).strip(), "```"]
    return "\n".join(lines)
