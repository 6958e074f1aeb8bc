"""A campaign kind of another distribution than Sophron's: plain sums, so that a whole campaign takes seconds.

It is found as any installed kind is (see `arithmetic_kind-0.dist-info`), and brings its own rules and schemas. Every
stage may be told to sleep, to fail, to need memory, or to be killed, as the definition's common keys say. All but `e`
can be derived again from their files.
"""

import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

from sophron.interfaces.kind import (
    EngineFailure,
    EnvironmentFailure,
    Kind,
    Question,
    StageKind,
    StepContext,
    StepResult,
)

HERE = Path(__file__).parent


def ranges(definitions):
    """`replica` counts the replicas that `c` gathers."""
    return {"replica": [str(replica) for replica in range(definitions["c"]["replicas"])]}


def _stage(name, *depends_on, **details):
    return StageKind(
        name=name,
        depends_on=depends_on,
        run=f"arithmetic_kind:{name}",
        schema=str(HERE / "schemas" / name),
        outputs={"numbers": "numbers.txt"},
        rederivable=name != "e",
        **details,
    )


KIND = Kind(
    name="arithmetic",
    rules=str(HERE / "arithmetic.smk"),
    stages=(
        _stage("a"),
        _stage("b", "a", wildcards=("replica",)),
        _stage("c", "b"),
        _stage("d", "c"),
        _stage("e", "a", optional=True),
        _stage("f", "c", "e", optional=True),
        _stage("g", "c", "e", optional=True),
    ),
    ranges=ranges,
    question=lambda _: Question({"a sum": "none", "a product": "none"}, {"terms": "none", "temperature": "K"}),
)


def process():
    """What a step can see of its own process, without what differs between any two."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD)
    status = Path("/proc/self/status").read_text().splitlines()
    return {
        "environment": {name: value for name, value in os.environ.items() if name != "TOY_TELLS"},
        "folder": str(Path.cwd()),
        "words": sys.argv[1:],
        "files": {name.name: name.stat().st_rdev for name in Path("/proc/self/fd").iterdir() if name.exists()},
        "signals": [str(signal.getsignal(number)) for number in signals],
        "held_back": [str(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])],
        "status": [line for line in status if line.startswith(("Umask", "Uid", "Gid", "Cap", "NoNewPrivs", "Threads"))],
        "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")],
        "group": [os.getpgrp(), os.getsid(0), os.nice(0)],
        "stdin": sys.stdin.read(),
    }


def _tell():
    """Leave what this process is in the file that the environment names; then wait as long as it says."""
    if "TOY_TELLS" in os.environ:
        forked = any(
            word.endswith("fork_server") or word == "sophron.warm_workers.fork_server" for word in sys.orig_argv
        )
        about = {"pid": os.getpid(), "forked": forked, "started_as": sys.orig_argv, "process": process()}
        text = json.dumps(about)
        Path(os.environ["TOY_TELLS"] + ".part").write_text(text)
        Path(os.environ["TOY_TELLS"] + ".part").rename(os.environ["TOY_TELLS"])
        time.sleep(float(os.environ.get("TOY_SLEEPS", "0")))


def _finish(ctx: StepContext, numbers, result) -> StepResult:
    """What all stages do: sleep, fail or die where the definition says so, then write their numbers."""
    _tell()
    time.sleep(ctx.definition.get("sleep_ms", 0) / 1000)
    held = b"1" * (ctx.definition.get("takes_mb", 0) * 2**20)
    if int(ctx.log_dir.name) <= ctx.definition.get("hangs", 0) or len(held) > ctx.memory_mb * 2**20:
        time.sleep(600)
    if int(ctx.log_dir.name) <= ctx.definition.get("kills", 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if ctx.memory_mb < ctx.definition.get("needs_mb", 0):
        raise EngineFailure(f"{ctx.stage} ran out of memory at {ctx.memory_mb} MB", curable_by="memory")
    wanted = ctx.definition.get("wants")
    if wanted and not Path(wanted).exists():
        raise EnvironmentFailure(f"{wanted} is not there, which {ctx.stage} needs; put it there")
    without = ctx.definition.get("breaks_without")
    if ctx.definition.get("breaks", False) or (without and not Path(without).exists()):
        raise EngineFailure(f"{ctx.stage} cannot add these numbers")
    path = ctx.workdir / "numbers.txt"
    path.write_text("".join(f"{number!r}\n" for number in numbers))
    return StepResult(result, {"numbers": path}, {"arithmetic": "0"})


def _read(step) -> list[float]:
    return [float(line) for line in step.files["numbers"].read_text().split()]


def a(ctx: StepContext) -> StepResult:
    """The sum of `terms` whole numbers from `first` on."""
    first, terms = ctx.definition["first"], ctx.definition["terms"]
    numbers = [first + term for term in range(terms)]
    return _finish(ctx, numbers, {"total": sum(numbers), "terms": terms})


def b(ctx: StepContext) -> StepResult:
    """The numbers of `a`, scaled, with a random one (from the step's seed) added to each."""
    source = random.Random(ctx.seed)
    numbers = [ctx.definition["factor"] * number + source.random() for number in _read(ctx.one("a"))]
    return _finish(ctx, numbers, {"total": sum(numbers), "largest": max(numbers)})


def c(ctx: StepContext) -> StepResult:
    """The mean of all replicas' sums, times `weight`."""
    sums = [sum(_read(step)) for step in ctx.upstream["b"]]
    mean = ctx.definition["weight"] * sum(sums) / len(sums)
    return _finish(ctx, sums, {"mean": mean, "replicas": len(sums)})


def d(ctx: StepContext) -> StepResult:
    """The mean of `c` plus `offset`."""
    summands = {"mean": ctx.one("c").result["mean"], "offset": ctx.definition["offset"]}
    total = sum(summands.values())
    rows = [{"value": value, "name": name} for name, value in summands.items()]  # a table, its columns in no order
    return _finish(ctx, [total], {"total": total, "summands": rows})


def e(ctx: StepContext) -> StepResult:
    """The sum of the numbers of `a`, each to a power."""
    numbers = [number ** ctx.definition["power"] for number in _read(ctx.one("a"))]
    return _finish(ctx, numbers, {"total": sum(numbers)})


def f(ctx: StepContext) -> StepResult:
    """The results of `c` and `e` together, times `scale`."""
    total = ctx.definition["scale"] * (ctx.one("c").result["mean"] + ctx.one("e").result["total"])
    return _finish(ctx, [total], {"total": total})


g = f  # the same under another name, so that a campaign can rename it
