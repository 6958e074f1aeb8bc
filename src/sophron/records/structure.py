"""Plain JSON data as dataclasses, and dataclasses as plain JSON data.

The two functions are what cattrs calls them. cattrs takes 0.1 s to import, which each step would pay, and an engine
with a Python of its own does not have it; this module needs the standard library alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def structure(cls: type[T], data: Any) -> T:
    """Return the dataclass `cls` that `data` describes; its fields are named as the keys are.

    A key without a field is ignored, a field without a key keeps its default. Values are taken as they are: whether
    they fit is for the schema to say. KeyError for a missing key, TypeError or ValueError for data of another shape.
    """
    if not isinstance(data, Mapping):
        raise TypeError(f"{cls.__name__} is read from an object, not from {type(data).__name__}")
    found = {}
    for name, hint, required in _fields(cls):  # type: ignore[arg-type]
        if name in data:
            found[name] = _value(hint, data[name])
        elif required:
            raise KeyError(name)
    return cls(**found)


@cache
def _fields(cls: type[Any]) -> tuple[tuple[str, Any, bool], ...]:
    """Name, type and whether it has no default, of each field."""
    hints = get_type_hints(cls)
    missing = dataclasses.MISSING
    return tuple(
        (each.name, hints[each.name], each.default is missing and each.default_factory is missing)
        for each in dataclasses.fields(cls)
        if each.init
    )


def _value(hint: Any, data: Any) -> Any:
    (hint, *others) = [each for each in get_args(hint) if each is not type(None)] if _is_union(hint) else [hint]
    if data is None or others:
        return data
    if dataclasses.is_dataclass(hint):
        return structure(hint, data)  # type: ignore[arg-type]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(data)
    return _collected(get_origin(hint), get_args(hint), data)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _collected(origin: Any, arguments: tuple[Any, ...], data: Any) -> Any:
    """Data of a mapping or a sequence with its members as the arguments say; any other data as they are."""
    if not isinstance(origin, type):
        return data
    if issubclass(origin, Mapping):
        key, value = arguments
        return {_key(key, name): _value(value, each) for name, each in data.items()}
    if issubclass(origin, Sequence):
        return _items(origin, arguments, data)
    return data


def _key(hint: Any, name: str) -> Any:
    return hint(name) if isinstance(hint, type) and issubclass(hint, int | Enum) else name


def _items(origin: type[Any], arguments: tuple[Any, ...], data: Any) -> Any:
    if origin is list:
        return [_value(arguments[0], each) for each in data]
    if len(arguments) == 1 or arguments[1] is Ellipsis:
        return tuple(_value(arguments[0], each) for each in data)
    return tuple(_value(hint, each) for hint, each in zip(arguments, data, strict=True))


def unstructure(value: Any) -> Any:
    """Return `value` as plain JSON data: dataclasses and mappings as objects, sequences and arrays as lists."""
    if dataclasses.is_dataclass(value):
        return {each.name: unstructure(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(unstructure(key)): unstructure(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [unstructure(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value
