"""Observations of a wrong answer that no misconception explains."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

NOTHING_RETURNED = "Your code returned None. Is a `return` missing?"
INPUT_MODIFIED = (
    "Your code modifies its input in place. Work on a copy, which a slice isn't: the caller may "
    "still need the original."
)
WHAT_CUTS_IT = (
    "`detach`, `.data`, `.item()`, `torch.no_grad` and NumPy cut it, and so does a new tensor made "
    "from numbers."
)


@dataclass(frozen=True)
class Observation:
    """A fact about a learner's answers.

    Attributes:
        name: of the kind of error, "" if it is not clear which.
        sentence: what is seen.
        meaning: what that tells, "" where the sentence does.
    """

    name: str
    sentence: str
    _: KW_ONLY
    meaning: str = ""
