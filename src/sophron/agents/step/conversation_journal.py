"""The journal of a conversation: what a model answered and what tools said, so that a kill repeats neither.

It is for agents whose definition says `resumes: true`: all that their tools do is in the step's scratch folder, which a
kill leaves too. An answered turn is never asked again; a tool that was at work when its process died is not called
again, and the model hears that it was interrupted.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sophron.agents.documents.model_request import response_data, response_of, tool_answer_data, tool_answer_of
from sophron.interfaces.model_backend import Request, Response, Text, ToolAnswer, ToolCall
from sophron.records.files import append_json_line, move, read_json_lines

NAME = "conversation.jsonl"
INTERRUPTED = "this call was interrupted; look at what it left before you repeat it"


class Journal:
    """The journal in `folder`, of a conversation with this `key`; one of another key is kept under a number.

    scratch: folder of its tools, emptied if a new conversation begins.
    """

    def __init__(self, folder: Path, key: str, scratch: Path) -> None:
        self._folder, self._path = folder, folder / NAME
        records = read_json_lines(self._path)[0]
        if not records or records[0].get("key") != key:
            self.close()
            records = []
            for path in scratch.iterdir() if scratch.is_dir() else ():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            append_json_line(self._path, {"key": key}, sync=True)
        self._responses: dict[int, Any] = {one["turn"]: one["response"] for one in records if "response" in one}
        self._begun = {(one["turn"], one["call"]) for one in records if "call" in one}
        self._answers: dict[tuple[int, int], Any] = {
            (one["turn"], one["call"]): one["answer"] for one in records if "answer" in one
        }
        self._turn, self._call = 0, 0

    def asking(self, ask: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Return `ask` with the answers of turns that were asked before."""

        def answered(request: Request) -> Response:
            self._turn, self._call = request.turn, 0
            if request.turn in self._responses:
                return response_of(self._responses[request.turn])
            response = ask(request)
            append_json_line(self._path, {"turn": request.turn, "response": response_data(response)}, sync=True)
            return response

        return answered

    def calling(self, call: Callable[[ToolCall], ToolAnswer], wanted: ToolCall) -> ToolAnswer:
        """Return what a tool says, or said before; a call that a kill interrupted is an error that says so."""
        place = (self._turn, self._call)
        self._call += 1
        if place in self._answers:
            return tool_answer_of(self._answers[place])
        about = {"turn": place[0], "call": place[1]}
        if place in self._begun:
            answer = ToolAnswer(wanted.id, (Text(INTERRUPTED),), is_error=True)
        else:
            append_json_line(self._path, about, sync=True)
            answer = call(wanted)
        append_json_line(self._path, {**about, "answer": tool_answer_data(answer)}, sync=True)
        return answer

    def close(self) -> None:
        """Keep it under a number: the conversation has ended, and another one begins anew."""
        if self._path.exists():
            number = len(list(self._folder.glob("conversation-[0-9]*.jsonl"))) + 1
            move(self._path, self._folder / f"conversation-{number}.jsonl")
