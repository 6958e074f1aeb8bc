"""Bytes and tokens of what each agent is asked, and how much of it the next turn has in common with it.

The requests are those of `tests/recorded`, made anew with the prompts, schemas and tools as they are now; of an
exchange only the inputs are used. Tokens are bytes / 4, which is near for English and JSON; `tokens_at_most` is the
bound that is reserved where a service has nothing to count with. What two requests have in common at their beginning,
with tools and schema before system and messages, is what a service can keep: for the dialogue of `design`, one turn and
the next; for every other agent, two requests of it.

    python bench/request_sizes.py
"""

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any, cast

from record import record

from sophron.agents.documents.model_request import request
from sophron.agents.gateway.backends.token_estimate import tokens_at_most
from sophron.agents.supervisor import design_dialogue, dialogue
from sophron.agents.tools.toolbox import KIND_TOOL
from sophron.campaign.planning import campaign_agents
from sophron.interfaces.model_backend import Request, Text, Tool
from sophron.records.errors import UserError
from sophron.science.rietveld import mcp
from sophron.science.rietveld.session.session import Session

RECORDED = Path(__file__).parents[1] / "tests" / "recorded"
BYTES_A_TOKEN = 4
MOST_TOKENS, LEAST_SHARE = 15_000, 0.8
"""Of a turn of the dialogue, and of it that the next turn begins with."""


def rietveld_tools() -> list[Tool]:
    """Return the tools of the server that a refinement calls, as a model is shown them. No tool is called."""
    listed = asyncio.run(mcp.server(cast(Session, None)).list_tools())
    return [Tool(f"rietveld__{one.name}", one.description or "", one.input_schema) for one in listed]


def exchanges(agent: str) -> Iterator[dict[str, Any]]:
    """Yield the recorded exchanges of an agent, oldest names first."""
    for path in sorted((RECORDED / agent).rglob("*.json")):
        yield json.loads(path.read_text())


def turns(agent: str, inputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the inputs of each turn up to this one; of an agent that is asked once, these alone."""
    said = inputs.get("turns", []) if agent == "design" else []
    for number in range(len(said)):
        yield inputs | {"turns": said[:number], "refusals": dialogue.NO_DRAFT}
    yield inputs


def completed(agent: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with what the installation itself tells, which the records leave out."""
    if agent == "refinement":
        return inputs | {"sample": Path("sample.json")}
    if agent != "design":
        return inputs
    with tempfile.TemporaryDirectory() as name:
        begun = design_dialogue.dialogue(Path(name))
        begun.begin(inputs["request"])
        for turn in inputs["turns"]:
            begun.add_answer(turn["question"], turn["asked"], turn["answered"])
        return {**design_dialogue.inputs(Path(name)), **inputs}


def text_of(asked: Request) -> str:
    """Return all that a service is sent, what stays the same first."""
    tools = json.dumps([[tool.name, tool.description, dict(tool.schema)] for tool in asked.tools])
    parts = [part.text for message in asked.messages for part in message.parts if isinstance(part, Text)]
    return "".join([tools, json.dumps(dict(asked.schema)), asked.system, *parts])


def in_common(first: str, second: str) -> float:
    """Return the share of the first text that the second one begins with."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return len("".join(pair[0] for pair in same).encode()) / len(first.encode())


def measured(agent: str) -> dict[str, Any]:
    """Return the sizes of the requests of an agent, and what one has in common with the next."""
    definition = campaign_agents.find_agent(None, agent)
    tools = {"design": [KIND_TOOL], "refinement": rietveld_tools()}.get(agent, [])
    dialogues = []
    for exchange in exchanges(agent):
        try:
            dialogues.append(
                [
                    request(definition, exchange["step"], completed(agent, told), tools)
                    for told in turns(agent, exchange["inputs"])
                ]
            )
        except UserError as error:  # it was told by other names then
            print(f"{agent}: {error}", file=sys.stderr)
    asked = [one for dialogue in dialogues for one in dialogue]
    if not asked:
        return {"requests": 0}
    sizes = [len(text_of(one).encode()) for one in asked]
    following = dialogues if agent == "design" else [asked]
    pairs = [pair for requests in following for pair in itertools.pairwise(map(text_of, requests))]
    return {
        "requests": len(asked),
        "bytes_mean": round(mean(sizes)),
        "bytes_most": max(sizes),
        "tokens_mean": round(mean(sizes) / BYTES_A_TOKEN),
        "tokens_most": max(sizes) // BYTES_A_TOKEN,
        "tokens_at_most": max(map(tokens_at_most, asked)),
        "least_share_in_common": round(min(itertools.starmap(in_common, pairs)), 2),
    }


def main() -> int:
    """Measure and record; 1 if a turn of the dialogue is larger, or has less in common, than it may."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = {folder.name: measured(folder.name) for folder in sorted(RECORDED.iterdir()) if folder.is_dir()}
    about = {"tokens": f"bytes / {BYTES_A_TOKEN}", "most_tokens": MOST_TOKENS, "least_share": LEAST_SHARE}
    record("request_sizes", about | {"agents": found})
    print(json.dumps(found, indent=1))
    design = found["design"]
    return int(design["tokens_most"] > MOST_TOKENS or design["least_share_in_common"] < LEAST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
