"""Frames between the grader and the process that runs a learner's code: JSON and safetensors.

A frame is two lengths, a JSON tree and the tensors that the tree refers to. Reading one executes
nothing, whatever it contains: there is no pickle, and every size is checked before it is believed.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import torch
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from course_lib.checks.engine.call import Answer, Call, Failure, Unusual

HEADER = struct.Struct("<II")  # the bytes of the JSON tree, and of the tensors
# Of the JSON tree, and of all tensors, in a frame from the jail. One to the jail may be longer: a
# submission may have 20 MB, and all that in one cell.
MOST_JSON, MOST_BYTES = 4 << 20, 16 << 20
MOST_TENSORS, MOST_AXES, DEEPEST = 2000, 16, 24
MOST_VALUES = 300_000  # numbers, texts, lists and so on
# Whole numbers can be chosen so that all have one hash, and a dict of such keys takes hours.
MOST_KEYS, LARGEST_KEY = 1000, 1 << 31  # of all dicts together
_DTYPES = {
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
}
_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_FAILURE_FIELDS = ("kind", "message", "line", "variables")
_TEXT_LIMITS = {"kind": 80, "message": 500, "line": 300, "variables": 300, "description": 300}


class WireError(Exception):
    """A frame that is not well formed, or larger than allowed."""


def encode(value: Any, *, trusted: bool = False) -> bytes:
    """A frame with this value: plain data, tensors, calls, answers, failures.

    What is none of these becomes an `Unusual`, which equals no right answer. Tensors keep their
    strides, and one that occurs twice is one tensor on the other side, too.

    Args:
        value: what is sent.
        trusted: it is sent to the jail, and may have any size.

    Raises:
        WireError: it is nested too deeply, or too large.
    """
    writer = _Writer()
    tree = writer.tree(value)
    try:
        text = json.dumps(tree, allow_nan=False).encode("ascii")
    except (ValueError, RecursionError) as error:
        raise WireError(f"the value can't be written: {error}") from None
    tensors = save_tensors(writer.tensors) if writer.tensors else b""
    if not trusted:
        _check_sizes(len(text), len(tensors))
    return HEADER.pack(len(text), len(tensors)) + text + tensors


def digest(value: Any) -> str:
    """A hash of a value, the same on both sides; "" for one that can't be written."""
    try:
        return hashlib.sha256(encode(value)).hexdigest()
    except Exception:  # a learner's code may have made anything of it
        return ""


def sizes(header: bytes, *, trusted: bool = False) -> tuple[int, int]:
    """The lengths that a header announces; any, if it is trusted.

    Raises:
        WireError: they are larger than allowed.
    """
    text, tensors = HEADER.unpack(header)
    if not trusted:
        _check_sizes(text, tensors)
    return text, tensors


def _check_sizes(text: int, tensors: int) -> None:
    if text > MOST_JSON or tensors > MOST_BYTES:
        raise WireError(
            f"a frame has at most {MOST_JSON} bytes of JSON and {MOST_BYTES} of tensors, "
            f"got {text} and {tensors}"
        )


def decode(text: bytes, tensors: bytes, *, strides: bool = False) -> Any:
    """The value of a frame.

    Args:
        text: its JSON tree.
        tensors: its tensors, in the safetensors format.
        strides: also restore how each tensor lies in memory; only for frames that are trusted.

    Raises:
        WireError: the frame is not well formed, or something in it is larger than allowed.
    """
    try:
        reader = _Reader(_loaded(tensors), strides=strides)
        return reader.value(json.loads(text, parse_constant=_refuse_constant), 0)
    except WireError:
        raise
    except (Exception, RecursionError) as error:  # any library's error about a malformed frame
        raise WireError(f"malformed frame: {type(error).__name__}") from None


def _loaded(data: bytes) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = load_tensors(data) if data else {}
    if len(tensors) > MOST_TENSORS:
        raise WireError(f"a frame has at most {MOST_TENSORS} tensors, got {len(tensors)}")
    for tensor in tensors.values():
        if tensor.dtype not in _DTYPES or tensor.ndim > MOST_AXES:
            raise WireError(f"a tensor of {tensor.ndim} axes and dtype {tensor.dtype}")
    return tensors


def _refuse_constant(name: str) -> None:
    raise WireError(f"{name} is not JSON")


class _Writer:
    """Turns a value into a JSON tree, and collects its tensors."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.names: dict[int, str] = {}
        self.kept: list[Tensor] = []  # so that no id is used twice

    def tree(self, value: Any, depth: int = 0) -> Any:
        if depth > DEEPEST:
            raise WireError(f"a value is nested at most {DEEPEST} deep")
        if isinstance(value, Tensor):
            return self.tensor(value)
        for tag, (kind, parts) in _PARTS.items():
            if isinstance(value, kind):
                return {tag: [self.tree(part, depth + 1) for part in parts(value)]}
        return _leaf(value)

    def tensor(self, x: Tensor) -> Any:
        if x.dtype not in _DTYPES or x.layout != torch.strided or x.is_meta:
            return {"unusual": [f"a tensor of dtype {x.dtype}"]}
        if id(x) not in self.names:
            self.names[id(x)] = f"{len(self.names)}"
            self.kept.append(x)
            self.tensors[self.names[id(x)]] = x.detach().cpu().contiguous().clone()
        name = self.names[id(x)]
        return {"tensor": [name] if x.is_contiguous() else [name, *x.stride()]}


def _leaf(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Integral):
        return int(value) if abs(int(value)) < 1 << 256 else {"unusual": ["a huge integer"]}
    if isinstance(value, Real):
        number = float(value)
        return number if math.isfinite(number) else {"float": [repr(number)]}
    return {"unusual": [f"a value of type {type(value).__name__}"[:80]]}


def _call_parts(call: Call) -> list[Any]:
    return [call.args, dict(call.kwargs), call.about, call.gradients]


def _answer_parts(answer: Answer) -> list[Any]:
    return [answer.value, answer.failure, answer.changed_inputs, answer.seconds]


def _failure_parts(failure: Failure) -> list[Any]:
    return [failure.kind, failure.message, failure.line, failure.variables]


# What a value of each kind is made of; the order decides, since every kind of dict is a Mapping.
_PARTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "call": (Call, _call_parts),
    "answer": (Answer, _answer_parts),
    "failure": (Failure, _failure_parts),
    "unusual": (Unusual, lambda unusual: [unusual.description]),
    "dict": (Mapping, lambda mapping: [x for pair in mapping.items() for x in pair]),
    "tuple": (tuple, list),
    "list": (list, list),
}


class _Reader:
    """Turns a JSON tree and its tensors back into a value."""

    def __init__(self, tensors: Mapping[str, Tensor], *, strides: bool) -> None:
        self.tensors, self.strides = tensors, strides
        self.laid_out: dict[str, Tensor] = {}
        self.values = self.keys = self.references = self.bytes = 0

    def value(self, tree: Any, depth: int) -> Any:
        if depth > 2 * DEEPEST:
            raise WireError("a value is nested too deeply")
        self.values += 1
        if self.values > MOST_VALUES:
            raise WireError(f"a frame has at most {MOST_VALUES} values")
        if tree is None or isinstance(tree, (bool, int, float, str)):
            return tree
        if not isinstance(tree, dict) or len(tree) != 1:
            raise WireError("expected a value or one tag with its parts")
        [(tag, parts)] = tree.items()
        if not isinstance(parts, list):
            raise WireError(f"expected the parts of {tag!r} as a list")
        if tag == "tensor":
            return self.tensor(*parts)
        if tag == "dict":
            self.keys += len(parts) // 2
            if self.keys > MOST_KEYS:
                raise WireError(f"the dicts of a frame have at most {MOST_KEYS} keys")
        return _MADE[tag](*(self.value(part, depth + 1) for part in parts))

    def tensor(self, name: str, *strides: int) -> Tensor:
        self.references += 1
        if self.references > MOST_TENSORS:  # a large one could occur any number of times
            raise WireError(f"a frame refers to at most {MOST_TENSORS} tensors")
        tensor = self.tensors[name]
        self.bytes += tensor.nbytes  # each time, since what converts a value does so each time
        if self.bytes > MOST_BYTES:
            raise WireError(
                f"the tensors of a frame have at most {MOST_BYTES} bytes, repeated ones too"
            )
        if not strides or not self.strides:
            return tensor
        if name not in self.laid_out:
            self.laid_out[name] = _laid_out(tensor, strides)
        return self.laid_out[name]


def _laid_out(x: Tensor, strides: tuple[int, ...]) -> Tensor:
    """The same numbers with these strides; along an axis of stride 0 they are all equal."""
    once = x[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
    laid_out = torch.empty_strided(once.shape, strides, dtype=x.dtype, device=x.device)
    return laid_out.copy_(once).expand(x.shape)


def _text(value: Any, limit: str) -> str:
    if not isinstance(value, str):
        raise WireError(f"expected the {limit} as text")
    return value[: _TEXT_LIMITS[limit]].encode("utf-8", "replace").decode("utf-8")


def _is_key(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_key, value))
    if isinstance(value, int):
        return abs(value) <= LARGEST_KEY
    return value is None or isinstance(value, (float, str, Unusual))


def _answer(value: Any, failure: Any, changed: Any, seconds: Any) -> Answer:
    if not (failure is None or isinstance(failure, Failure)) or not isinstance(changed, bool):
        raise WireError("expected an answer's failure and whether it changed its inputs")
    return Answer(value, failure=failure, changed_inputs=changed, seconds=float(seconds))


def _call(args: Any, kwargs: Any, about: Any, gradients: Any) -> Call:
    return Call(args, kwargs, about=about, gradients=gradients)


def _failure(*parts: Any) -> Failure:
    return Failure(
        **{name: _text(part, name) for name, part in zip(_FAILURE_FIELDS, parts, strict=True)}
    )


def _dict(*parts: Any) -> dict[Any, Any]:
    if not all(map(_is_key, parts[::2])):
        raise WireError("expected the keys of a dict as plain data, numbers not too large")
    return dict(zip(parts[::2], parts[1::2], strict=True))


_MADE: dict[str, Callable[..., Any]] = {
    "call": _call,
    "answer": _answer,
    "failure": _failure,
    "unusual": lambda description: Unusual(_text(description, "description")),
    "dict": _dict,
    "tuple": lambda *parts: parts,
    "list": lambda *parts: list(parts),
    "float": lambda name: _ODD_FLOATS[name],
}
