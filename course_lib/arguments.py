"""The arguments of a ``course`` verb, made from the fields of its options, a frozen dataclass.

A field is written as ``limit: int | None = option("help", default=None, metavar="N")``: its type
says what is read, its default what is taken if nothing is given, and its name is the flag. What the
values may be together is checked by the dataclass itself, in ``__post_init__``.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

OptionsType = TypeVar("OptionsType")
Groups = dict[str, Any]  # argparse has no public name for a group of arguments


@dataclass(frozen=True)
class NoOptions:
    """The options of a verb that takes none."""


def option(
    help: str,
    *,
    default: Any = MISSING,
    metavar: str | None = None,
    flag: str | None = None,
    many: str | None = None,
    positional: bool = False,
    exclusive: str | None = None,
    required: bool = False,
) -> Any:
    """A field of a dataclass that is an argument of the command.

    Args:
        help: what ``--help`` says of it; ``%(default)s`` stands for its default.
        default: without one, the argument is required.
        metavar: what stands for its value there.
        flag: such as "--set"; by default the field's name, after ``--no-`` if its default is True.
        many: of a tuple: "+" or "*" as in argparse, or "repeat" if the flag is given once a value.
        positional: it has no flag, and stands for itself.
        exclusive: any word; of the arguments with the same one at most one may be given.
        required: one of those must be given.
    """
    metadata = {
        "help": help,
        "metavar": metavar,
        "flag": flag,
        "many": many,
        "positional": positional,
        "exclusive": exclusive,
        "required": required,
    }
    return field(default=default, metadata=metadata)


def add_arguments(parser: ArgumentParser, options: type[Any]) -> None:
    """Add an argument for each field, in the order of the fields.

    A field that is a dataclass itself stands for the arguments of its own fields, with the values
    of its default as their defaults.
    """
    _add_fields(parser, options, defaults=None, groups={})


def _add_fields(
    parser: ArgumentParser, options: type[Any], *, defaults: object, groups: Groups
) -> None:
    types = get_type_hints(options)
    for each in fields(options):
        default = each.default if defaults is None else getattr(defaults, each.name)
        if is_dataclass(types[each.name]):
            _add_fields(parser, types[each.name], defaults=default, groups=groups)
        else:
            _add_field(parser, each, types[each.name], default=default, groups=groups)


def _add_field(
    parser: ArgumentParser, each: Field[Any], type_: Any, *, default: object, groups: Groups
) -> None:
    metadata = each.metadata
    if metadata["exclusive"] and metadata["exclusive"] not in groups:
        group = parser.add_mutually_exclusive_group(required=metadata["required"])
        groups[metadata["exclusive"]] = group
    target = groups.get(metadata["exclusive"], parser)
    keywords = {"help": metadata["help"]} | _value_keywords(metadata, type_, default)
    if metadata["positional"]:
        target.add_argument(each.name, **keywords)
        return
    name = each.name.replace("_", "-")
    flag = metadata["flag"] or (f"--no-{name}" if default is True else f"--{name}")
    target.add_argument(flag, dest=each.name, required=default is MISSING, **keywords)


def _value_keywords(metadata: Mapping[str, Any], type_: Any, default: object) -> dict[str, Any]:
    """How argparse reads a value of this type: one, several, or a flag alone."""
    if type_ is bool:
        return {"action": "store_false" if default else "store_true"}
    keywords: dict[str, Any] = {"metavar": metadata["metavar"]}
    value_type = _type_of_a_value(type_)
    if get_origin(value_type) is Literal:
        keywords["choices"] = get_args(value_type)
    else:
        keywords["type"] = path_argument if value_type is Path else value_type
    if default is not MISSING:
        keywords["default"] = list(default) if isinstance(default, tuple) else default
    if metadata["many"] == "repeat":
        keywords["action"] = "append"
    elif metadata["many"]:
        keywords["nargs"] = metadata["many"]
    elif metadata["positional"] and default is not MISSING:
        keywords["nargs"] = "?"
    return keywords


def _type_of_a_value(type_: Any) -> Any:
    """The type itself, or of one ``| None`` or of a tuple of such values, what is inside."""
    if get_origin(type_) in (Union, UnionType, tuple):
        [type_] = [each for each in get_args(type_) if each not in (NoneType, ...)]
        return _type_of_a_value(type_)
    return type_


def options_from(namespace: Namespace, options: type[OptionsType]) -> OptionsType:
    """The options with the values that were parsed.

    Raises:
        CourseError: the values contradict each other, as the dataclass says.
    """
    types = get_type_hints(options)
    values: dict[str, Any] = {}
    for each in fields(options):  # type: ignore[arg-type]  # a dataclass, as add_arguments says
        if is_dataclass(types[each.name]):
            values[each.name] = options_from(namespace, types[each.name])
        else:
            value = getattr(namespace, each.name)
            values[each.name] = tuple(value) if isinstance(value, list) else value
    return options(**values)


def path_argument(text: str) -> Path:
    """A path that was given to a command; ``Path`` takes no text at all for the present folder.

    A shell replaces ``~`` in ``--output ~/site``, but not in ``--output=~/site``.

    Raises:
        ArgumentTypeError: the text is empty, or it begins with ``~`` and there is no home folder.
    """
    if not text:
        raise ArgumentTypeError(
            "expected a path, got an empty text: is a variable of the shell not set? "
            "Write . for the present folder"
        )
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise ArgumentTypeError(
            f"expected a home folder for {text}, found none ({error}): set HOME, or write the "
            "whole path"
        ) from error
