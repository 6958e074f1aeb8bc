"""`sophron task`: look at tasks that programs are to judge, and run them: by a model, their own solution, or nobody."""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sophron.cli import _task_make

if TYPE_CHECKING:
    from sophron.tasks.harbor_folder import HarborTask
    from sophron.tasks.judgement import Judgement
    from sophron.tasks.scifi_markdown import MarkdownTask

HELP = "tasks that programs judge: a Harbor folder, or Markdown with Context, To-do and Expectation"
EXAMPLES = """\
examples:
  sophron task new peak-fit                a folder with top.md, a task to edit (--harbor: one of Harbor)
  sophron task make "fit a Gaussian to data.csv, mean within 0.1 of 2.5"
                                           the same out of your words, one question a turn (--agents anthropic)
  sophron task check tasks/column-mean     what its folder asks for, and what cannot be rebuilt here
  sophron task check tasks/gauss-fit       which sentences of its expectation programs check, and which are UNVERIFIED
  sophron task run tasks/column-mean       its own solution works, its tests judge, both in the sandbox
  sophron task list                        the tasks that come with Sophron; check and judge take their names
  sophron task run tasks/gauss-fit --agent anthropic
                                           a model works, in a campaign that the first call makes to be signed
  sophron task list tasks                  which tasks below tasks/ can run here, and why the others cannot
  sophron task judge tasks/gauss-fit my-work
                                           a folder of work, whoever did it, by the programs of the task
  sophron task bench tasks --agent oracle --agent nop --cores 4
                                           every task below tasks/, with its solution and with nobody: a table

exit codes: 0 it can run here, or passed; 1 something is UNVERIFIED, missing or not passed; 2 it is refused;
4 its campaign waits for a signature
"""
AGENTS = ("oracle", "nop")
"""Who needs no model; any other agent is a backend of models."""
WAITS = 4
"""The exit code of `sophron run` too, if a signature is waited for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    new = actions.add_parser("new", help="write a task to begin with: in Markdown, or as a folder of Harbor")
    new.add_argument("folder", type=Path, metavar="NAME", help="a new folder")
    new.add_argument("--harbor", action="store_true", help="write a folder of Harbor in place of Markdown")
    _task_make.add_arguments(actions.add_parser("make", help="make a task of your words, in a dialogue"))
    check = actions.add_parser("check", help="read a task and say what programs will check; nothing runs")
    check.add_argument("task", type=_task, help="folder of a task, its Markdown file, or the name of a shipped one")
    listed = actions.add_parser("list", help="say of each task of a collection whether it can run here; nothing runs")
    listed.add_argument(
        "collection", type=Path, metavar="FOLDER", nargs="?", help="folder above tasks (the shipped ones)"
    )
    _add_job(actions.add_parser("run", help="run one task: rebuild, work, verify"), "folder of a task")
    _add_job(actions.add_parser("bench", help="run all tasks of a collection, and write a table"), "folder above tasks")
    judge = actions.add_parser("judge", help="judge a folder of work that somebody did, by the programs of a task")
    judge.add_argument("task", type=_task, help="folder of a task, its Markdown file, or the name of a shipped one")
    judge.add_argument("work", type=Path, help="what stands at the working directory of the task when it is done")
    _add_place(judge)
    _add_steps(actions)


def _add_job(parser: argparse.ArgumentParser, about: str) -> None:
    parser.add_argument("collection", type=_task, metavar="FOLDER", help=f"{about}, or the name of a shipped one")
    parser.add_argument(
        "--agent",
        action="append",
        help="who works: the task's own solution (oracle, the default), nobody (nop), or a model: its backend, such as "
        "anthropic; may be repeated",
    )
    parser.add_argument("--model", metavar="HANDLE", help="model of that backend (default: the first of its rank)")
    parser.add_argument("--n-attempts", type=_positive, default=1, metavar="N", help="independent attempts of each (1)")
    parser.add_argument(
        "--rounds",
        type=_positive,
        default=3,
        metavar="N",
        help="rounds of a model's attempt, each told what failed (3)",
    )
    parser.add_argument(
        "--reviewer", action="store_true", help="let the reviewer judge sentences that no program checks"
    )
    parser.add_argument("--cores", type=_positive, default=1, help="cores for all together (1)")
    _add_place(parser)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs-dir", type=Path, default=Path("jobs"), help="where the job is kept (jobs)")
    parser.add_argument("--python", default="", metavar="3.X", help="a Python in place of those of the base images")


def _add_steps(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add what rules of a job call; --help does not list it."""
    environment = actions.add_parser("environment")
    environment.add_argument("--digest", required=True)
    environment.add_argument("--python", default="")
    work = actions.add_parser("work")
    work.add_argument("--agent", choices=AGENTS, required=True)
    verify = actions.add_parser("verify")
    verify.add_argument("--work", type=Path, required=True)
    for step in (work, verify):
        step.add_argument("--environment", type=Path, required=True)
    for step in (environment, work):
        step.add_argument("--record", type=Path, required=True)
    for step in (environment, work, verify):
        step.add_argument("task", type=Path)
    actions.add_parser("table").add_argument("job", type=Path)


def _task(text: str) -> Path:
    from sophron.tasks import collection

    return collection.find(Path(text))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text}: is to be 1 or more")
    return number


def run(args: argparse.Namespace) -> int:
    """Do one action; UserError, a sentence, if a task is refused."""
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "new": lambda _: _new(args.folder, harbor=args.harbor),
        "make": lambda _: _task_make.run(args, print_markdown),
        "check": lambda _: _check(args.task),
        "list": lambda _: _list(args.collection),
        "judge": _judge,
        "run": _run_job,
        "bench": _run_job,
    }
    return actions.get(args.action, _run_step)(args)


def _new(folder: Path, *, harbor: bool) -> int:
    from sophron.tasks import task_templates

    print(f"{task_templates.write(folder, harbor=harbor)}: edit it, then: sophron task check {folder}")
    return 0


def _check(path: Path) -> int:
    from sophron.tasks import harbor_folder, scifi_markdown

    if path.is_file() or (path / scifi_markdown.TOP).is_file():
        return print_markdown(scifi_markdown.read(path))
    return _print_folder(harbor_folder.read(path))


def _list(folder: Path | None) -> int:
    from sophron.records.sanitize import one_line
    from sophron.tasks import collection

    tasks = collection.tasks_of(folder or collection.shipped())
    reasons = {name: collection.why_not(path) for name, path in tasks.items()}
    for name, reason in reasons.items():
        print(f"{name}: {one_line(reason, 200) or 'can run here'}")
    print(f"{sum(not reason for reason in reasons.values())} of {len(reasons)} can run here")
    return 0


def _judge(args: argparse.Namespace) -> int:
    from sophron.sandbox import select_backend
    from sophron.tasks import attempts, bench, judgement, scifi_markdown

    sandbox, place = select_backend.choose(), args.jobs_dir.absolute() / args.task.resolve().stem
    if args.task.is_file() or (args.task / scifi_markdown.TOP).is_file():
        return _print_judgements(judgement.judge_markdown(scifi_markdown.read(args.task), args.work, place, sandbox))
    attempts.rebuild(args.task, place, place.parent / bench.STORE, sandbox, args.python)
    attempt = place / attempts.GIVEN
    attempts.hand_in(args.task, place, attempt, args.work)
    result = attempts.judge(args.task, place, attempt, sandbox)
    reward = result["fault"] or f"reward {result['reward']:g}"
    print(f"{result['task']}: {'passed' if result['passed'] else 'not passed'} ({reward}); {attempt}")
    return int(not result["passed"])


def _print_judgements(found: "list[Judgement]") -> int:
    from sophron.records.sanitize import one_line

    words = {True: "met", False: "not met", None: "UNVERIFIED"}
    for judged in found:
        print(f"{judged.task}: {'met' if judged.met else 'not met'}")
        for sentence in judged.sentences:
            print(f"  {words[sentence.met]:<10} {one_line(sentence.text, 100)}")
            for fault in sentence.faults if sentence.met is False else ():
                print(f"             {one_line(fault, 200)}")
        for sign in judged.fabrications:
            print(f"  fabricated? {one_line(str(sign), 200)}")
        if judged.left_out:
            print(f"  left out   {one_line(', '.join(judged.left_out), 200)}")
    return int(not all(judged.met for judged in found))


def _run_job(args: argparse.Namespace) -> int:
    """Run a job and print its table; 1 if the oracle fails, nobody's work passes, or nothing was attempted."""
    from sophron.records.errors import UserError
    from sophron.records.files import load_json, read_text
    from sophron.tasks import bench

    agents = args.agent or ["oracle"]
    models = [agent for agent in agents if agent not in AGENTS]
    if len(models) > 1:
        raise UserError(
            f"--agent {models[1]}: a campaign has one model that works; make another with its own --jobs-dir"
        )
    if models:
        codes = [_run_model(args, models[0])]
        agents = [agent for agent in agents if agent in AGENTS]
        if not agents or codes != [0]:
            return codes[0]
    job = bench.job_of(args.collection, agents, args.n_attempts, args.python)
    if args.action == "run" and (len(job.tasks) > 1 or not job.readable):
        first = next(iter(job.tasks.values()))
        raise UserError(first.refused or f"{args.collection}: holds several tasks; run them with: sophron task bench")
    bench.run(job, args.jobs_dir.absolute(), args.cores)
    print(read_text(args.jobs_dir / bench.TABLE), end="")
    rows = load_json(args.jobs_dir / bench.RESULTS)["rows"]
    if args.action == "run" and (refused := next((row["refused"] for row in rows if row["refused"]), "")):
        raise UserError(refused)
    for sentence in (said := bench.unsound(rows)):
        print(sentence)
    return int(bool(said) or not any(row["attempts"] for row in rows))


def _run_model(args: argparse.Namespace, backend: str) -> int:
    """Make the campaign in which a model works at tasks, or go on with it once it is signed; print its table."""
    from sophron.agents.supervisor import snakemake_process
    from sophron.campaign.spec.spec import SPEC_NAME, load
    from sophron.kinds.task import task_campaign, task_table
    from sophron.records import approvals
    from sophron.records.errors import Refused
    from sophron.tasks import bench

    who = task_campaign.worker(backend, args.model)
    root = args.jobs_dir.absolute() / f"{args.collection.resolve().stem}-{backend}"
    if not (root / SPEC_NAME).is_file():
        wanted = task_campaign.Wanted(who, args.rounds, args.n_attempts, args.reviewer)
        for name, why in task_campaign.prepare(args.collection, root, wanted).items():
            print(f"{name}: {why}")
    try:
        approvals.valid_approval(root)
    except Refused as waiting:
        print(f"{waiting}\nLook at it and sign it, then type this line again:")
        print(f"  sophron review {root}\n  sophron approve {root} --key ~/.ssh/id_ed25519")
        return WAITS
    with snakemake_process.signals_raised():
        ended = snakemake_process.run(root, [*task_campaign.COMMAND, "--cores", str(args.cores)], {})
    print(task_table.write(root, load(root / SPEC_NAME), task_campaign.refusals(args.collection)), end="")
    print(f"{root / bench.TABLE}")
    return int(ended.code != 0)


def _run_step(args: argparse.Namespace) -> int:
    """Run one step of a job, as its rule calls it."""
    from sophron.records.errors import UserError
    from sophron.sandbox import select_backend
    from sophron.tasks import attempts, bench, harbor_folder

    if args.action == "table":
        bench.tabulate_results(args.job)
        return 0
    sandbox = select_backend.choose()
    if args.action == "environment":
        if attempts.task_digest(harbor_folder.read(args.task)) != args.digest:
            raise UserError(f"{args.task}: was changed since the job began; start the job again")
        place = args.record.absolute().parent
        attempts.rebuild(args.task, place, place.parent / bench.STORE, sandbox, args.python)
    elif args.action == "work":
        attempts.work(args.task, args.environment.absolute().parent, args.record.absolute().parent, args.agent, sandbox)
    else:
        attempts.judge(args.task, args.environment.absolute().parent, args.work.absolute().parent, sandbox)
    return 0


def _print_folder(task: "HarborTask") -> int:
    from sophron.records.errors import UserError
    from sophron.records.files import read_text
    from sophron.tasks import dockerfile, environment, grading_stubs, harbor_folder

    recipe, refusals = dockerfile.examine(task.folder / harbor_folder.ENVIRONMENT / harbor_folder.DOCKERFILE)
    missing = environment.missing_packages(recipe)
    print("\n".join(_folder_lines(task)))
    wanted = [name for call in recipe.requirements for name in (*call.names, *(f"-r {path}" for path in call.files))]
    script = read_text(task.folder / harbor_folder.TEST_SCRIPT)
    _print_list("Python", [recipe.python] if recipe.python else [])
    _print_list("pip", [*wanted, *(f"{name} (its tests)" for name in grading_stubs.requirements(script))])
    _print_list("packages", [f"{name}{' (missing here)' * (name in missing)}" for name in recipe.packages])
    _print_list("left out", recipe.notes)
    _print_list("warnings", task.warnings)
    if refusals:
        raise UserError(refusals[0] + (f" (and {len(refusals) - 1} more)" if refusals[1:] else ""))
    return int(bool(missing))


def _folder_lines(task: "HarborTask") -> Iterator[str]:
    seconds = "no limit" if task.work.timeout_s is None else f"{task.work.timeout_s:g} s"
    yield f"{task.name}: {len(task.files)} files; an oracle {'is there' if task.has_solution else 'is not there'}"
    yield f"  work       {seconds}; asks for network: {task.work.network}"
    sees = "artifacts alone" if task.separate else "the whole work folder"
    yield f"  tests      {task.tests.timeout_s:g} s; see {sees}; without a network"


def _print_list(title: str, lines: "list[str] | tuple[str, ...]") -> None:
    from sophron.records.sanitize import one_line

    for number, line in enumerate(lines):
        print(f"  {title if not number else '':<10} {one_line(line, 300)}")


def print_markdown(task: "MarkdownTask", indent: str = "") -> int:
    """Print each sentence of a task with its checks; 1 if one has none."""
    from sophron.records.sanitize import one_line
    from sophron.tasks.expectations import proposal

    unverified = len(task.unverified)
    print(f"{indent}{task.name}: {len(task.expectations)} sentences, {unverified} UNVERIFIED")
    for sentence in task.expectations:
        print(f"{indent}  line {sentence.line:<4} {one_line(sentence.text, 100)}")
        if sentence.checks:
            print(f"{indent}            checked by: {', '.join(check.check for check in sentence.checks)}")
        else:
            print(f"{indent}            UNVERIFIED: {one_line(sentence.why, 100)}")
            print(f"{indent}            a form that binds: {one_line(proposal(sentence.why), 100)}")
    for warning in task.warnings:
        print(f"{indent}  {one_line(warning, 300)}")
    below = [print_markdown(one, f"{indent}  ") for one in task.subtasks]
    return max(int(bool(unverified)), *below, 0)
