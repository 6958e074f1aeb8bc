"""Records as frozen dataclasses: from a JSON object and back, by the types of their fields. Standard library only."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sophron.records.errors import UserError
from sophron.records.files import load_json

Record = TypeVar("Record")
Reader = Callable[[Any], Any]
_SCALARS = {str: str, bool: bool, int: int, float: (int, float), type(None): type(None)}


class RecordError(ValueError):
    """A JSON value is not the record that it should be; a clause that names the field."""


def left_out(default: Any = None, key: str | None = None) -> Any:
    """Declare a field that is not written while it has its default. key: its name in JSON, if that is another one."""
    return field(default=default, metadata={"left_out": True, "key": key})


def load(path: Path, kind: type[Record]) -> Record:
    """Read a JSON file as a `kind`, a dataclass or such as `dict[str, Entry]`; UserError if it is anything else."""
    try:
        return cast("Record", _reader(kind)(load_json(path)))
    except RecordError as error:
        raise UserError(
            f"{path}: is damaged, not a record ({error}); restore it, or remove it to have it made again"
        ) from None


def from_json(kind: type[Record], content: object) -> Record:
    """Return `content` as a `kind`; keys that it does not declare are ignored, as those of a newer version.

    RecordError names the field that is missing or holds a value of another type.
    """
    if not isinstance(content, Mapping):
        raise RecordError(f"{content!r:.60} is not an object")
    values = {}
    for name, key, reader, needed in _fields(cast("Hashable", kind)):
        if key in content:
            try:
                values[name] = reader(content[key])
            except RecordError as error:
                raise RecordError(f"{key}: {error}") from None
        elif needed:
            raise RecordError(f"{key} is missing")
    return kind(**values)


def to_json(value: Any) -> Any:
    """Return a dataclass as plain JSON data, its fields in their order; other values with what is inside them."""
    if is_dataclass(value):
        kept = ((one, getattr(value, one.name)) for one in fields(value))
        return {
            one.metadata.get("key") or one.name: to_json(inner)
            for one, inner in kept
            if not (one.metadata.get("left_out") and inner == one.default)
        }
    if isinstance(value, Mapping):
        return {str(to_json(key)): to_json(inner) for key, inner in value.items()}
    if isinstance(value, Enum):
        return value.value
    return [to_json(inner) for inner in value] if isinstance(value, list | tuple) else value


@cache
def _fields(kind: Any) -> list[tuple[str, str, Reader, bool]]:
    """(field, its key, what reads its value, whether it must be there) of a dataclass."""
    hints = get_type_hints(kind)
    return [
        (
            one.name,
            one.metadata.get("key") or one.name,
            _reader(hints[one.name]),
            one.default is MISSING and one.default_factory is MISSING,
        )
        for one in fields(kind)
    ]


def _reader(hint: Any) -> Reader:
    """The function that reads a value of this type: a scalar, a dataclass, one of several, or a container of them."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return partial(_first, [_reader(one) for one in inner])
    if origin in (dict, Mapping, list, Sequence, tuple):
        return _container(origin, inner)
    if hint is Any or hint is object or origin is Literal:
        return partial(_instance, object)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return partial(_converted, hint)
    return partial(_instance, _SCALARS[hint]) if hint in _SCALARS else partial(from_json, hint)


def _container(origin: Any, inner: tuple[Any, ...]) -> Reader:
    """The function that reads an object or an array; what is in one of Any or object is left as it is."""
    is_object = origin in (dict, Mapping)
    if inner[-1] in (Any, object):
        return partial(_instance, Mapping if is_object else list)
    if is_object:
        return partial(_mapping, inner[0] if _is_named(inner[0]) else str, _reader(inner[1]))
    return partial(_listed, _reader(inner[0]), tuple if origin is tuple else list)


def _is_named(hint: Any) -> bool:
    """Whether a key of this type is another thing than its name in JSON."""
    return isinstance(hint, type) and issubclass(hint, int | Enum)


def _converted(kind: Any, value: Any) -> Any:
    try:
        return kind(value)
    except ValueError as error:
        raise RecordError(str(error)) from None


def _instance(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind not in (bool, object)):
        raise RecordError(f"{value!r:.60} is of another type")
    return value


def _first(readers: Sequence[Reader], value: Any) -> Any:
    """What the first reader that takes the value makes of it; the error of the last one."""
    for reader in readers[:-1]:
        try:
            return reader(value)
        except RecordError:
            continue
    return readers[-1](value)


def _listed(reader: Reader, kind: type, value: Any) -> Any:
    return kind(map(reader, _instance((list, tuple), value)))


def _mapping(key: Any, reader: Reader, value: Any) -> Any:
    return {_converted(key, name): reader(inner) for name, inner in _instance(Mapping, value).items()}
