"""The catalogue of models: `config/models.yaml` as shipped, changed entry by entry by a campaign's own file."""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from sophron.interfaces.model_backend import Model
from sophron.records.documents import Document, load_yaml, validate
from sophron.records.errors import UserError, shown
from sophron.records.paths import resource
from sophron.records.typed_json import from_json

FILE = Path("config", "models.yaml")
STAND_INS = frozenset({"heuristic", "replay"})
"""Providers that ask nobody: their answers are no model calls, and the ledger does not count them."""
NAMED_ONLY = STAND_INS | {"mailbox"}
"""Providers that answer only where they are named: none of them replaces a language model behind anyone's back."""


@dataclass(frozen=True)
class Catalogue:
    """All models, in the order in which they are tried."""

    models: tuple[Model, ...]

    def get(self, handle: str) -> Model:
        """The model called `handle`; UserError where there is none."""
        for model in self.models:
            if model.handle == handle:
                return model
        known = [model.handle for model in self.models]
        near = get_close_matches(handle, known, n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"known are {', '.join(known)}"
        raise UserError(f'{FILE}: there is no model "{shown(handle)}"; {hint}')

    def candidates(self, rank: int, role: str, provider: str | None = None) -> list[Model]:
        """Models that may answer for a role, in order: those of `rank` and no others.

        provider: its models alone. One that has none of this rank gives those of its next stronger rank, so that
        rules of thumb and a mailbox stand in for every rank; a weaker model never does.
        """
        fit = [model for model in self.models if role in model.roles]
        if provider is None:
            return [model for model in fit if model.rank == rank and model.provider not in NAMED_ONLY]
        own = [model for model in fit if model.provider == provider and model.rank <= rank]
        nearest = max((model.rank for model in own), default=rank)
        return [model for model in own if model.rank == nearest]


def load(root: Path) -> Catalogue:
    """The catalogue of the campaign at `root`; UserError names file, key and remedy of a faulty entry."""
    shipped = load_yaml(resource(*FILE.parts))
    own = root / FILE
    document = _changed(shipped, load_yaml(own)) if own.is_file() else shipped
    validate(document, "models")
    return Catalogue(
        tuple(from_json(Model, {**entry, "handle": handle}) for handle, entry in document.data["models"].items())
    )


def _changed(shipped: Document, own: Document) -> Document:
    """The campaign's entries first, as it prefers them; each keeps the shipped keys that it does not state."""
    validate(own, "models", "changes")
    entries, changes = shipped.data["models"], own.data["models"]
    merged = {handle: {**entries.get(handle, {}), **change} for handle, change in changes.items()}
    return Document(
        {"models": merged | {key: entries[key] for key in entries if key not in merged}}, own.path, own.lines
    )
