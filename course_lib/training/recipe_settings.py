"""Change any field of a recipe from text: ``lr=1e-3``, ``model.d_model=64``."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from course_lib.decoding import Decoding
from course_lib.errors import CourseError
from course_lib.modern import PREFIX_PRESETS
from course_lib.training.models import model_config
from course_lib.training.recipes import Recipe
from course_lib.wording import did_you_mean

_FROM_DATA = ("source_vocab", "target_vocab", "vocab", "pad_id")  # the vocabularies decide
_NESTED = ("model", "decoding")


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """The recipe with fields changed.

    Args:
        settings: each ``NAME=VALUE``; NAME is a field of ``Recipe``, ``model.`` and a field of
            its model's configuration, or ``decoding.`` and a field of ``Decoding``. Tuples are
            written with commas, ``betas=0.9,0.98``; ``none`` is None.

    Raises:
        CourseError: there is no such field, or its dataclass refuses the value.
    """
    groups = _groups(recipe)
    changes: dict[str, dict[str, Any]] = {group: {} for group in groups}
    for setting in settings:
        path, equals, text = setting.partition("=")
        group, _, name = path.strip().rpartition(".")
        if not equals or not name:
            raise CourseError(f"expected NAME=VALUE, as in lr=1e-3, got {setting!r}")
        changes[group][name] = _parse(path.strip(), _type_of(path.strip(), groups), text.strip())
    model = recipe.model | changes["model"]
    decoding = replace(recipe.decoding, **changes["decoding"])
    top: dict[str, Any] = {"model": model, "decoding": decoding} | changes[""]
    changed = replace(recipe, **top)
    if changed.bugs and changed.preset in PREFIX_PRESETS:
        raise CourseError(
            f"the bugs of the published systems are in an encoder-decoder, got {changed.bugs[0]!r} "
            f"and {changed.preset!r}: leave the bugs out, or take another recipe"
        )
    try:  # with vocabularies of equal sizes: the true ones are known with the data
        model_config(changed.preset, **model)
    except (TypeError, ValueError) as error:  # of a preset that was changed, there may be no field
        raise CourseError(str(error)) from error
    return changed


def list_settings(recipe: Recipe) -> Iterator[tuple[str, Any]]:
    """All fields that ``with_settings`` can change, by name, with the recipe's values."""
    values: dict[str, Any] = {"": recipe, "model": model_config(recipe.preset, **recipe.model)}
    values["decoding"] = recipe.decoding
    for group, owner in values.items():
        for name in _names(group, owner):
            yield f"{group}.{name}".lstrip("."), getattr(owner, name)


def format_setting(value: Any) -> str:
    """A field's value as ``with_settings`` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "()"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _groups(recipe: Recipe) -> dict[str, type]:
    """Which dataclass has the field of a setting, by the setting's prefix."""
    return {"": Recipe, "model": type(model_config(recipe.preset)), "decoding": Decoding}


def _names(group: str, owner: Any) -> list[str]:
    names = [field.name for field in fields(owner)]
    hidden = _NESTED if group == "" else _FROM_DATA if group == "model" else ()
    return [name for name in names if name not in hidden]


def _type_of(path: str, groups: dict[str, type]) -> Any:
    """The annotation of the field at ``path``."""
    group, _, name = path.rpartition(".")
    if group in groups and name in _names(group, groups[group]):
        return get_type_hints(groups[group])[name]
    if group == "model" and name in _FROM_DATA:
        raise CourseError(f"{path} comes from the vocabularies of the data: leave it out")
    known = [f"{g}.{n}".lstrip(".") for g, kind in groups.items() for n in _names(g, kind)]
    raise CourseError(
        "expected a field of the recipe, its model or its decoding, "
        f"got {path!r}{did_you_mean(path, known) or ':'} `course recipes RECIPE` lists them"
    )


def _parse(path: str, kind: Any, text: str) -> Any:
    """The value that ``text`` is for a field of this type."""
    try:
        return _value(kind, text)
    except ValueError:
        raise CourseError(f"{path} must be {_described(kind)}, got {text!r}") from None


def _value(kind: Any, text: str) -> Any:
    origin, options = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if text.lower() == "none":
            return None
        return _value(next(option for option in options if option is not type(None)), text)
    if origin is tuple:
        texts = [part.strip() for part in text.strip("()").split(",") if part.strip()]
        if options[-1] is not Ellipsis and len(texts) != len(options):
            raise ValueError
        return tuple(_value(options[0], part) for part in texts)
    if origin is Literal:
        if text not in options:
            raise ValueError
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    return kind(text)


def _described(kind: Any) -> str:
    origin, options = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join("none" if o is type(None) else _described(o) for o in options)
    if origin is Literal:
        return f"one of {', '.join(options)}"
    if origin is tuple:
        some = "numbers" if options[0] is float else "names"
        return f"{'' if options[-1] is Ellipsis else f'{len(options)} '}{some} with commas between"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return names[kind]
