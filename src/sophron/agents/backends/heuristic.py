"""The backend of rules of thumb: no language model, no network, no cost; every answer names it as what it is."""

import json
from importlib.metadata import version

from sophron.interfaces.model import Model, ModelBackend, ModelFailure, Request, Response, Text, Usage
from sophron.interfaces.thumb import RuleOfThumb
from sophron.records import registry
from sophron.records.errors import UserError

GROUP = "sophron.heuristics"


class Heuristic(ModelBackend):
    """Answers by the rule that the registry `sophron.heuristics` has under the agent's name."""

    name = "heuristic"

    def missing(self, model: Model) -> str | None:
        """None: rules of thumb need nothing but this installation."""
        del model
        return None

    def count(self, request: Request, model: Model) -> int:
        """Zero: a rule of thumb reads no tokens."""
        del request, model
        return 0

    def complete(self, request: Request, model: Model) -> Response:
        """Apply the rule to the request's inputs. ModelFailure where there is none, or where they do not fit it."""
        del model
        rule = _rule(request.agent)
        try:
            answer = dict(rule(request.inputs))
        except (KeyError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else f"the key {error} is missing"
            message = f'the rule of thumb of "{request.agent}" cannot use its inputs: {reason}'
            raise ModelFailure("rejected", message, outcome="none") from None
        written = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        named = f"rules of thumb {version('sophron')}"
        return Response((Text(written),), "end", Usage(), self.name, named, {"answer": answer})


def _rule(agent: str) -> RuleOfThumb:
    try:
        rule: RuleOfThumb = registry.load(GROUP, agent)
    except UserError as error:
        reason = f'there is no rule of thumb for the agent "{agent}"; choose another backend ({error})'
        raise ModelFailure("rejected", reason, outcome="none") from None
    return rule
