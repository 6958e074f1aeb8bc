"""The backend of rules of thumb: no language model, no network, no cost; every answer names it as what it is."""

import json
from collections.abc import Iterator

from sophron import __version__
from sophron.agents.rule_based.input_checks import instructions
from sophron.interfaces import UncheckedObject
from sophron.interfaces.model_backend import (
    Model,
    ModelBackend,
    ModelError,
    Request,
    Response,
    Text,
    ToolAnswer,
    ToolCall,
    Usage,
)
from sophron.interfaces.rule_based_agent import Exchange, RuleOfThumb, ToolUser, Use
from sophron.records import entry_points
from sophron.records.errors import UserError

SUSPICIOUS = "suspicious_text"
GROUP = "sophron.rule_based_agents"


class Heuristic(ModelBackend):
    """Answers by the rule that the registry `sophron.rule_based_agents` has under the agent's name."""

    name = "heuristic"

    def missing(self, model: Model) -> str | None:
        """Return None: rules of thumb need nothing but this installation."""
        del model
        return None

    def count(self, request: Request, model: Model) -> int:
        """Return zero: a rule of thumb reads no tokens."""
        del request, model
        return 0

    def complete(self, request: Request, model: Model) -> Response:
        """Apply the rule to the request's inputs, and to what tools answered so far.

        ModelError if there is none, or where they do not fit it. One that cannot go on from what its tools said
        declines: that is a way to end a conversation, and no fault of the inputs.
        """
        del model
        rule = _rule(request.agent)
        try:
            reply = _reply(rule, request)
        except (KeyError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else f"the key {error} is missing"
            if request.turn > 1:
                return Response((Text(reason),), "refusal", Usage(), self.name, _model_name())
            message = f'the rule of thumb of "{request.agent}" cannot use its inputs: {reason}'
            raise ModelError("rejected", message, outcome="none") from None
        model_name = _model_name()
        if isinstance(reply, tuple):
            calls = tuple(
                ToolCall(f"use-{request.turn}-{number}", use.tool, dict(use.arguments))
                for number, use in enumerate(reply, 1)
            )
            return Response(calls, "tool", Usage(), self.name, model_name)
        text = json.dumps(reply, ensure_ascii=False, allow_nan=False)
        return Response((Text(text),), "end", Usage(), self.name, model_name, {"answer": reply})


def _model_name() -> str:
    return f"rules of thumb {__version__}"


def _rule(agent: str) -> RuleOfThumb | ToolUser:
    try:
        rule: RuleOfThumb | ToolUser = entry_points.load(GROUP, agent)
    except UserError as error:
        reason = f'there is no rule of thumb for the agent "{agent}"; choose another backend ({error})'
        raise ModelError("rejected", reason, outcome="none") from None
    return rule


def _reply(rule: RuleOfThumb | ToolUser, request: Request) -> tuple[Use, ...] | UncheckedObject:
    """Return tools to use, or the answer."""
    if not isinstance(rule, ToolUser):
        return _whole(request, rule(request.inputs))
    reply = rule.proceed(request.inputs, list(_exchanges(request)))
    return reply if isinstance(reply, tuple) else _whole(request, reply)


def _whole(request: Request, answer: UncheckedObject) -> UncheckedObject:
    """Return an answer with the text that tries to instruct its reader, if the schema has a place for it."""
    if SUSPICIOUS not in request.schema.get("properties", {}):
        return dict(answer)
    return {**answer, SUSPICIOUS: answer.get(SUSPICIOUS) or instructions(request.inputs)}


def _exchanges(request: Request) -> Iterator[Exchange]:
    """Yield the turns so far in which tools were used."""
    for call, answer in zip(request.messages[1::2], request.messages[2::2], strict=True):
        uses = tuple(Use(part.name, _arguments(part.arguments)) for part in call.parts if isinstance(part, ToolCall))
        if uses:
            yield Exchange(uses, tuple(part for part in answer.parts if isinstance(part, ToolAnswer)))


def _arguments(arguments: UncheckedObject | None) -> UncheckedObject:
    return {} if arguments is None else dict(arguments)
