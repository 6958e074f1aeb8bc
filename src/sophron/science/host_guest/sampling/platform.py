"""OpenMM, the platform it runs on, and nothing slower in its place than what was asked for."""

from __future__ import annotations

from typing import Any

from sophron.records.errors import UserError

FASTEST_FIRST = ("CUDA", "OpenCL", "CPU", "Reference")
GRAPHICS = ("CUDA", "OpenCL")


def openmm() -> Any:
    """Return the module; UserError if it is not installed."""
    try:
        import openmm as module
    except ImportError:
        raise UserError("this system needs OpenMM, which is not installed; pip install 'sophron[chem]'") from None
    return module


def platform(asked: str | None = None, threads: int = 1) -> tuple[Any, dict[str, str]]:
    """Return a platform that works here, and its properties.

    asked: one of `FASTEST_FIRST`; `GPU`, the faster of the two for graphics processors; None, the fastest there is.
    UserError if the one that was asked for does not work here: a run of GPU length on a CPU would not end.
    threads: of the CPU platform; with more than one, sums depend on their order and runs do not repeat.
    """
    names = {None: FASTEST_FIRST, "GPU": GRAPHICS}.get(asked, (asked or "",))
    for name in names:
        found = _working(name)
        if found:
            return found, _properties(name, threads)
    there = ", ".join(name for name in FASTEST_FIRST if _working(name))
    raise UserError(
        f"OpenMM's platform {asked} does not work here, and {there} do; set SOPHRON_PLATFORM to one of them."
    )


def described(context: Any) -> str:
    """Program, version and platform of a context."""
    return f"OpenMM {openmm().version.version} {context.getPlatform().getName()}"


def _properties(name: str, threads: int) -> dict[str, str]:
    if name in GRAPHICS:
        return {"Precision": "mixed"}
    return {"Threads": str(threads)} if name == "CPU" else {}


def _working(name: str) -> Any:
    """The platform called `name` if one particle can be put on it; a listed one may lack its device."""
    module = openmm()
    listed = {module.Platform.getPlatform(at).getName() for at in range(module.Platform.getNumPlatforms())}
    if name not in listed:
        return None
    system = module.System()
    system.addParticle(1.0)
    found = module.Platform.getPlatformByName(name)
    try:
        module.Context(system, module.VerletIntegrator(0.001), found)
    except module.OpenMMException:
        return None
    return found
