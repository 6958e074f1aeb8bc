"""Stand-ins for tests of the gateway and its parts: a request, and a stub backend that follows a script."""

from sophron.agents.documents.redact import Redactor
from sophron.agents.gateway.audit import Audit
from sophron.agents.gateway.gateway import Catalogue, Gateway
from sophron.agents.gateway.ledger import Cap, Caps, Ledger
from sophron.interfaces.model_backend import Message, Model, ModelBackend, ModelError, Request, Response, Text, Usage
from sophron.records import entry_points

SCHEMA = {
    "type": "object",
    "required": ["verdict"],
    "additionalProperties": False,
    "properties": {"verdict": {"type": "string"}},
}


def request(text="Is it done?", *, step="caveats", turn=1, **more):
    return Request(
        step, "report", turn, "You are careful.", (Message("user", (Text(text),)),), SCHEMA, {"text": text}, **more
    )


def answer(text='{"verdict": "yes"}', usage=None):
    return Response((Text(text),), "end", usage or Usage(100, 10), "stub", "stub-model", {"id": "raw"})


def failure(kind, outcome="unknown", **more):
    return ModelError(kind, f"the stub was told to be {kind}", outcome=outcome, **more)


class StubBackend(ModelBackend):
    """Gives back what its script says, by the name of the model; counts 100 tokens for every request."""

    name = "stub"

    def __init__(self, script, lacks=()):
        self.script = {name: list(steps) for name, steps in script.items()}
        self.lacks = lacks
        self.asked = []

    def missing(self, model):
        return f"{model.name} lacks its key" if model.name in self.lacks else None

    def count(self, request, model):
        return 100

    def complete(self, request, model):
        self.asked.append(model.name)
        step = self.script[model.name].pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def model(name, rank=1, provider="stub", **more):
    about = {"price_in": 1.0, "price_out": 10.0, "context": 10_000, "max_output": 1_000, **more}
    return Model(handle=name, provider=provider, name=name, rank=rank, **about)


UNBOUND = Caps(Cap(), Cap(), Cap())


def gateway(root, monkeypatch, script, models, *, caps=UNBOUND, lacks=(), **more):
    """A gateway over a stub backend; `.stub` and `.slept` tell what it did."""
    stub, slept = StubBackend(script, lacks), []
    real = entry_points.load
    monkeypatch.setattr(
        entry_points, "load", lambda group, name: (lambda: stub) if name in ("stub", "other") else real(group, name)
    )
    made = Gateway(Catalogue(tuple(models)), Ledger(root, caps), Audit(root, Redactor()), sleep=slept.append, **more)
    made.stub, made.slept = stub, slept
    return made
