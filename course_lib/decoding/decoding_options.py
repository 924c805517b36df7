"""Decoding options as data, checked when they are made, and what else no decoder can use."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral
from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor

from course_lib.errors import CourseError
from course_lib.model import Transformer

Method = Literal["greedy", "beam", "sample"]

_OPTIONS = {
    "greedy": (),
    "beam": ("width", "length_penalty"),
    "sample": ("temperature", "top_k", "top_p", "seed"),
}


@dataclass(frozen=True)
class Decoding:
    """How to turn a model's probabilities into a sentence.

    Raises:
        CourseError: a value makes no sense, or belongs to another method.
    """

    method: Method = "greedy"
    _: KW_ONLY
    width: int = 4  # beam: hypotheses kept at each step (section 6.1 of the paper)
    length_penalty: float = 0.6  # beam: 0 prefers short sentences, more prefers longer ones
    temperature: float = 1.0  # sample: below 1 sharpens the probabilities, above 1 flattens them
    top_k: int | None = None  # sample: only from the k most probable tokens
    top_p: float | None = None  # sample: only from the fewest tokens that have this probability
    seed: int = 0  # sample: decides every draw

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            choices = ", ".join(map(repr, get_args(Method)))
            raise CourseError(f"method must be one of {choices}, got {self.method!r}")
        check_beam(self.width, self.length_penalty)
        check_sampling(self.temperature, self.top_k, self.top_p)
        if not is_whole(self.seed):
            raise CourseError(f"seed must be a whole number, got {self.seed!r}")
        # An option without effect is an error that nobody sees: Decoding(top_k=5) is greedy.
        changed = [f.name for f in fields(self)[1:] if getattr(self, f.name) != f.default]
        for name in changed:
            if name not in _OPTIONS[self.method]:
                owner = next(method for method, names in _OPTIONS.items() if name in names)
                raise CourseError(
                    f"{name} is an option of the method {owner!r}, got it with {self.method!r}: "
                    f"did you mean Decoding({owner!r}, {name}={getattr(self, name)!r})?"
                )


MOST_HYPOTHESES = 10_000  # the memory grows with them
MOST_PENALTY = 100


def check_beam(width: int, length_penalty: float) -> None:
    """Refuse what ``beam_search`` cannot use, with a CourseError."""
    if not is_whole(width) or width < 1:
        raise CourseError(f"width must be a positive whole number of hypotheses, got {width!r}")
    if width > MOST_HYPOTHESES:
        raise CourseError(
            f"width must be at most {MOST_HYPOTHESES:,} hypotheses, got {width:,}: memory and time "
            "grow with it, so choose a smaller one"
        )
    if not 0 <= length_penalty < math.inf:  # put this way, it also refuses NaN
        raise CourseError(
            f"length_penalty must be finite and not negative, got {length_penalty}: "
            "0 compares log-probabilities, 0.6 is the paper's"
        )
    if length_penalty > MOST_PENALTY:  # a power with this exponent
        raise CourseError(
            f"length_penalty must be at most {MOST_PENALTY}, got {length_penalty}: from 2 or 3 on, "
            "the longest sentence wins"
        )


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Refuse what ``sample_decode`` cannot use, with a CourseError."""
    if not 0 < temperature < math.inf:
        raise CourseError(
            f"temperature must be positive and finite, got {temperature}: "
            "for its limit at 0 decode greedily"
        )
    if top_k is not None and (not is_whole(top_k) or top_k < 1):
        raise CourseError(
            f"top_k must be a positive whole number of tokens, or None for all, got {top_k!r}"
        )
    if top_p is not None and not 0 < top_p <= 1:
        raise CourseError(
            f"top_p is a probability and must lie in (0, 1], or be None for all, got {top_p}"
        )


def check_end(model: Transformer, max_len: int, eos_id: int) -> None:
    """Refuse an end that no sentence of the model can have, with a ValueError."""
    if not is_whole(max_len) or not 0 < max_len <= model.config.max_len:
        raise ValueError(
            f"max_len must lie in 1 … {model.config.max_len} (the model's max_len), got {max_len}"
        )
    if not 0 <= eos_id < model.config.target_vocab:
        raise ValueError(
            f"eos_id must lie in 0 … {model.config.target_vocab - 1}, the model's target "
            f"vocabulary, got {eos_id}: no sentence would end before max_len"
        )


def check_largest(logits: Float[Tensor, "*rows"]) -> None:
    """Refuse rows whose largest logit is not finite, with a CourseError.

    Every decoder asks this before it chooses: to argmax, NaN is the largest of all.
    """
    if not (finite := logits.isfinite()).all():
        raise CourseError(
            f"decoding needs logits that are finite numbers, got {logits[~finite][0].item()}: did "
            "the model's training diverge? Try a checkpoint of an earlier step, or train with a "
            "lower learning rate"
        )


def is_whole(value: object) -> bool:
    """Whether this is a whole number, of Python or of NumPy."""
    return isinstance(value, Integral) and not isinstance(value, bool)
