"""The review for the terminal."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sophron.campaign.planning.campaign_agents import AT_THE_CAP
from sophron.campaign.rendering.formatting import amount, flat, hours, of_a_model, plain, short
from sophron.campaign.review import host_rules
from sophron.campaign.review.review import Limit, Review, StagePlan
from sophron.campaign.spec import criteria_review
from sophron.records.sanitize import hides, lines, one_line
from sophron.records.terminal import next_line

WIDTH = 100
LONGEST_LIST = 12
BOLD, RED, GREEN, YELLOW = "1", "1;31", "32", "33"
NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Paint:
    """Colours, or none."""

    on: bool

    def __call__(self, words: str, style: str) -> str:
        """`words` in a style."""
        return f"\x1b[{style}m{words}\x1b[0m" if self.on and words else words


def render(review: Review, *, colour: bool = False) -> str:
    """Return the whole review; what comes from the spec is cleaned of signs that hide or forge."""
    paint = Paint(colour)
    parts = [
        _head(review, paint),
        _amendment(review, paint),
        _plan(review, paint),
        _host(review, paint),
        _envelope(review, paint),
        _agents(review, paint),
        _stages(review, paint),
        _assumptions(review, paint),
        _pitfalls(review, paint),
        _now(review, paint),
        _end(review, paint),
    ]
    return "\n".join("\n".join(part) + "\n" for part in map(list, parts) if part)


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return the rows as aligned columns; the columns in `right` to the right."""
    from tabulate import tabulate

    sides = ["right" if index in right else "left" for index in range(len(rows[0]))]
    text = tabulate(rows, tablefmt="plain", colalign=sides, disable_numparse=True)
    return [f"  {line.rstrip()}" for line in text.splitlines()]


def _wrapped(words: str, indent: str = "  ", further: str = "") -> list[str]:
    return textwrap.wrap(
        one_line(words),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=" " * len(indent) + further,
        break_on_hyphens=False,
    )


def _packed(items: Sequence[str], indent: str) -> list[str]:
    """Items in as few lines as they fit into; none is broken."""
    unbroken = "; ".join(item.replace(" ", NO_BREAK) for item in items)
    lines = textwrap.wrap(
        unbroken,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def _head(review: Review, paint: Paint) -> Iterator[str]:
    spec, question = review.spec, review.spec.data["question"]
    yield paint(f"{one_line(spec.campaign)}, version {spec.version}", BOLD) + f"  ({one_line(spec.kind.name)} campaign)"
    yield ""
    yield paint("Question", BOLD)
    conditions = ", ".join(f"{one_line(key)} {plain(value)}" for key, value in question["conditions"].items())
    yield from _wrapped(f"{question['quantity']} in {question['units']}; {question['ensemble']}; {conditions}")
    yield from _wrapped(f"method: {spec.data['method']['name']}; seed {spec.data['seed']}")
    if review.units_remark:
        yield from _wrapped(paint(review.units_remark, YELLOW))
    if "reference" in question:
        known = question["reference"]
        span = f"{plain(known['low'])} to {plain(known['high'])}"
        yield from _wrapped(f"to compare with: {span} ({known['source']})")
    if hides(spec.data):
        yield paint("  The spec holds characters that cannot be seen; they are left out of this review.", RED)


def _amendment(review: Review, paint: Paint) -> Iterator[str]:
    amendment = review.proposal.amendment
    if amendment is None:
        return
    yield paint(f"Amendment to version {amendment.version}, drafted and not signed", YELLOW)
    yield from _wrapped(f"rationale: {amendment.rationale}")
    for change in amendment.changes:
        yield from _wrapped(change, "    ", "  ")
    if review.added:
        yield "  adds (upper bound of what runs):"
        yield from ("  " + line for line in table([_cost(stage) for stage in review.added], right=(1, 2)))
    if not review.invalidated:
        yield "  invalidates no stage"
        return
    yield "  invalidates (upper bound of what runs again; what is there is kept):"
    rows = [[*_cost(stage), _kept(stage, amendment.version - 1)] for stage in review.invalidated]
    rows.append([*_cost(*review.invalidated, name="together"), ""])
    yield from ("  " + line for line in table(rows, right=(1, 2)))


def _cost(*stages: StagePlan, name: str = "") -> list[str]:
    steps, most = sum(stage.steps for stage in stages), sum(stage.core_hours for stage in stages)
    return [name or one_line(stages[0].name), f"{steps} steps", f"{hours(most)} core-hours"]


def _kept(stage: StagePlan, version: int) -> str:
    moved = f"{stage.outputs} {'file moves' if stage.outputs == 1 else 'files move'} to invalidated/v{version}"
    return f"REMOVED; {moved}" if stage.removed else moved


def _host(review: Review, paint: Paint) -> Iterator[str]:
    """The rules of a host workflow: their jobs, and what each of them consists of."""
    host = host_rules.of_review(review)
    if host is None:
        return
    yield paint("Workflow", BOLD) + f"  {host.jobs} jobs of {len(host.rules)} rules, {host.sources} source files"
    for rule in host.rules:
        yield f"  {one_line(rule.name)}  {rule.jobs}"
        for words in (*rule.parts, rule.ceilings):
            yield from _wrapped(words, "    ", "  ")
        yield from (paint(f"    {one_line(words)}", YELLOW) for words in rule.unsigned)
    for words in host.unplanned:
        yield from _wrapped(words)
    if host.templates:
        yield paint(
            "  To let them run behind a checkpoint, bound them under workflow.templates in campaign.yaml:", YELLOW
        )
        yield from (f"    {one_line(line)}" for line in host.templates)
    yield from (paint(f"  {one_line(words)}", YELLOW) for words in host.unsigned)
    yield from _wrapped(host.remark)


def _plan(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("Plan", BOLD) + f"  {len(review.proposal.plan.steps)} steps"
    rows = [["stage", "builds on", "steps by rule", "one try at most", "retries", "core-hours at most"]]
    for stage in review.stages:
        counted = _counted(stage.rules)
        most, retries, needs = "", "", ""
        if stage.mechanical:
            shape = stage.mechanical
            cores = "1 core" if shape.ceiling_cores == 1 else f"{shape.ceiling_cores} cores"
            most = f"{cores}, {shape.ceiling_memory_mb} MB, {shape.ceiling_runtime_min} min"
            retries = str(shape.retries)
            needs = ", ".join(review.spec.stage(stage.name).depends_on)
        rows.append([one_line(stage.name), needs, counted, most, retries, hours(stage.core_hours)])
    yield from table(rows, right=(4, 5))
    for line in review.overlay_lines:
        yield paint(f"  {one_line(line)}", YELLOW)
    for line in review.reservation_lines:
        yield from _wrapped(line)
    for name, values in review.wildcard_ranges.items():
        shown = ", ".join(one_line(value) for value in values[:LONGEST_LIST])
        more = f", … {one_line(values[-1])}" if len(values) > LONGEST_LIST else ""
        yield f"  {one_line(name)}: {shown}{more} ({len(values)})"
    for template in review.proposal.plan.templates:
        over = ", ".join(f"{one_line(name)} {len(values)}" for name, values in template.ranges.items())
        when = f"in the loop of {one_line(template.stage)}" if template.stage else "only when called for"
        yield f"  template {one_line(template.rule)}: at most {template.bound} steps ({over}), {when}"


def _agents(review: Review, paint: Paint) -> Iterator[str]:
    if not review.agents:
        return
    yield paint("Agents", BOLD)
    rows = [["agent", "answered by", "behind the rules"]]
    rows += [[one_line(agent.name), one_line(agent.who), one_line(", ".join(agent.rules))] for agent in review.agents]
    yield from table(rows)
    if review.agent_costs:
        yield from _agent_costs(review)
    for lack in review.lacking:
        yield from (paint(line, YELLOW) for line in _wrapped(f"before it runs here: {lack}"))
    for agent in review.agents:
        if agent.tools:
            yield from _wrapped(f"{agent.name} may use {', '.join(agent.tools)}; it and its programs get:")
        elif agent.grants:
            yield from _wrapped(f"{agent.name} has no tools, and in its prompt:")
        for line in agent.grants:
            yield from _wrapped(line, "    - ")


def _counted(rules: Mapping[str, int]) -> str:
    return ", ".join(f"{one_line(rule)} {count}" for rule, count in rules.items())


def _envelope(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("Envelope", BOLD)
    shown = [
        [
            one_line(limit.name).replace("_", " "),
            amount(limit.signed),
            *_needed(limit, expected=bool(review.agent_costs)),
        ]
        for limit in review.envelope
        if not limit.unused
    ]
    expected = ["expected"] if review.agent_costs else []
    yield from table([["", "signed", *expected, "this plan, at most"], *shown], right=range(1, 4))
    if review.own_bounds:
        own = " and ".join(review.own_bounds).replace("_", "-")
        yield f"  no limit on {own} in the spec: the plan's own bound is signed"
    nothing = [one_line(limit.name).replace("_", " ") for limit in review.envelope if limit.unused]
    if nothing:
        yield f"  none at all: {', '.join(nothing)}"
    if review.agent_costs:
        yield from _wrapped(AT_THE_CAP)


def _needed(limit: Limit, *, expected: bool) -> list[str]:
    most = hours(limit.most) if limit.name == "core_hours" else amount(limit.most)
    return [*(["" if limit.expected is None else amount(limit.expected)] if expected else []), most]


def _agent_costs(review: Review) -> Iterator[str]:
    """What one step of each agent rule takes, and how many there may be."""
    rows = [["steps of", "expected", "at most", "one step takes as a rule", "one step takes at most"]]
    rows += [
        [one_line(cost.rule), str(cost.expected_steps), str(cost.steps), of_a_model(cost.usual), of_a_model(cost.most)]
        for cost in review.agent_costs
    ]
    yield from table(rows, right=(1, 2))


def _stages(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("Stages", BOLD)
    for stage in review.spec.stages:
        name = stage.name
        yield f"  {paint(one_line(name), BOLD)}  definition {short(review.spec.definition_digest(name))}"
        fragments = review.spec.fragments(name)
        shown = [(key, value) for key, value in flat(review.spec.definition(name)) if key not in fragments]
        yield from _packed([f"{one_line(key)} {plain(value)}" for key, value in shown], "    ")
        for key, value in fragments.items():
            yield paint(f"    {one_line(key)} (free engine text):", YELLOW)
            parts = value if isinstance(value, list) else [value]
            yield from (f"      | {line}" for part in parts for line in lines(part))
        for criterion in review.spec.criteria(name):
            kind = one_line(criteria_review.labels(review.spec, name, criterion))
            name_and_kind = f"{one_line(criterion.id)}{' ' if kind else ''}{kind}"
            yield f"    criterion {name_and_kind}: {one_line(criterion.expression)}"
            signed = criteria_review.signed_numbers(review.spec, name, criterion)
            yield from _packed([f"{one_line(key)} = {plain(value)}" for key, value in signed.items()], "      ")
            yield from _wrapped(criterion.statement, "      ")
        if name in review.unsandboxed:
            yield paint(f"    SANDBOX EXCEPTION: free engine text of {one_line(name)} runs OUTSIDE the sandbox", RED)


def _assumptions(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("Assumptions", BOLD)
    if not review.assumptions:
        yield "  none stated"
    for item in review.assumptions:
        yield "  " + paint(item.status, GREEN if item.status == "verified" else RED) + f"  {one_line(item.id)}"
        yield from _wrapped(f"{item.statement} By: {item.verified_by}", "      ")


def _pitfalls(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("Pitfalls", BOLD)
    if not review.findings:
        yield "  none probed"
    styles = {"hit": RED, "unknown": YELLOW, "clear": GREEN}
    order = list(styles)
    for pitfall, finding in sorted(review.findings, key=lambda one: order.index(one[1].status)):
        yield "  " + paint(finding.status.upper().ljust(8), styles[finding.status]) + f"{one_line(pitfall.title)}"
        if finding.status != "clear":
            yield from _wrapped(finding.evidence, "      ")
            yield from _wrapped(f"safeguard: {pitfall.safeguard}", "      ")


def _now(review: Review, paint: Paint) -> Iterator[str]:
    yield paint("What would run now", BOLD)
    if not review.waiting:
        yield "  nothing: everything is there"
        return
    rows = [[one_line(one.stage), _counted(one.rules), one_line(one.reason)] for one in review.waiting]
    yield from table([["stage", "steps by rule", "why"], *rows])


def _end(review: Review, paint: Paint) -> Iterator[str]:
    proposal = review.proposal
    yield f"plan {short(proposal.plan.hash)}  spec {short(review.spec.digest)}  statement {proposal.digest}"
    for fingerprint in review.trusted:
        yield f"trusted to sign: {one_line(fingerprint)}"
    for part, names in review.changed_code.items():
        yield from _wrapped(f"the {part} code changed since it was signed: {', '.join(names)}", "")
    if review.closed:
        yield paint("The gate stays closed:", RED)
        for reason in review.closed:
            yield from _wrapped(reason, "  - ")
    elif review.in_force:
        yield paint("This plan is signed and in force.", GREEN)
    else:
        yield paint("It can be signed by the digest of its statement.", BOLD)
    yield next_line(proposal.root, review.next_command)
