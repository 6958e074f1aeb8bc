"""A stage whose function and schema lie where every kind of Sophron's own has them."""

from sophron.interfaces.kind import StageKind


def stage_of(kind: str, name: str, *depends_on: str, run: str = "", **details: object) -> StageKind:
    """Stage `name` of `kind`: function `run` in the module of its name, or in the one that `run` names; own schema.

    details: further fields of StageKind.
    """
    return StageKind(
        name=name,
        depends_on=depends_on,
        run=f"sophron.science.{kind}.{run or name}:run",
        schema=f"{kind}/{run or name}",
        **details,  # type: ignore[arg-type]
    )
