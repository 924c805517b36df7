"""The parts of a Transformer of your own: ``from course_lib.mine import MultiHeadAttention``.

In your copy of the course that is your own answer, if it passes its check, and otherwise the
course's part. Anywhere else it is the course's. ``course mine`` shows which part is whose.
"""

from __future__ import annotations

from typing import Any

from course_lib.mine.parts import PARTS, course_part, own_library

__all__ = [*PARTS, "Decoder", "Encoder"]


def __getattr__(name: str) -> Any:
    """The part of this name.

    Raises:
        AttributeError: there is no such part.
    """
    if name in ("Encoder", "Decoder"):
        from course_lib.mine import stacks

        return getattr(stacks, name)
    if name not in PARTS:
        raise AttributeError(
            f"expected one of {', '.join(__all__)} from course_lib.mine, got {name!r}: everything "
            "else is in course_lib.model, .data, .training and .decoding"
        )
    library = own_library()
    return course_part(name) if library is None else library.part(name)


def __dir__() -> list[str]:
    return __all__
