"""The parts that later assignments use, and where the course has its own of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.mine.library import Library

WORK_MARK = ".course"  # what the folder of a learner's copy of the course has


@dataclass(frozen=True)
class Part:
    """A function or class that an exercise asks for and others use.

    Attributes:
        name: what the exercise calls it.
        item: the task that asks for it, "04.multi_head_attention".
        course: where the course's own is, "module:name"; "" for the reference of the task.
        step: what it is part of, "model", "training", "translating" or "reading".
    """

    name: str
    item: str
    _: KW_ONLY
    course: str = ""
    step: str = "model"

    @property
    def lesson(self) -> str:
        """The lesson's number, "04"."""
        return self.item[:2]


_MODEL, _TRAINING = "course_lib.model", "course_lib.training"
PARTS = {
    part.name: part
    for part in (
        Part(
            "sinusoidal_positions",
            "01.sinusoidal_positions",
            course=f"{_MODEL}:sinusoidal_positions",
        ),
        Part(
            "TransformerEmbedding",
            "02.transformer_embedding",
            course=f"{_MODEL}:TransformerEmbedding",
        ),
        Part("FeedForward", "03.feed_forward", course=f"{_MODEL}:FeedForward"),
        Part(
            "MultiHeadAttention", "04.multi_head_attention", course=f"{_MODEL}:MultiHeadAttention"
        ),
        Part("padding_mask", "06.padding_mask", course=f"{_MODEL}:padding_mask"),
        Part("decoder_mask", "06.decoder_mask", course=f"{_MODEL}:decoder_mask"),
        Part(
            "EncoderBlock",
            "07.encoder_block",
        ),
        Part(
            "DecoderBlock",
            "07.decoder_block",
        ),
        Part(
            "Transformer",
            "08.transformer",
            course=f"{_MODEL}:Transformer",
        ),
        Part("collate", "09.collate", course="course_lib.data:collate", step="training"),
        Part(
            "teacher_forcing",
            "09.teacher_forcing",
            course="course_lib.data:teacher_forcing",
            step="training",
        ),
        Part(
            "masked_cross_entropy",
            "10.masked_cross_entropy",
            course=f"{_TRAINING}:masked_cross_entropy",
            step="training",
        ),
        Part(
            "train_step",
            "10.train_step",
            step="training",
        ),
        Part(
            "inverse_sqrt_lr",
            "11.inverse_sqrt_lr",
            course=f"{_TRAINING}:inverse_sqrt_lr",
            step="training",
        ),
        Part(
            "greedy_decode",
            "13.greedy_decode",
            course="course_lib.decoding:greedy_decode",
            step="translating",
        ),
        Part(
            "beam_search",
            "13.beam_search",
            step="translating",
        ),
        Part(
            "align",
            "14.align",
            step="reading",
        ),
    )
}


def course_part(name: str) -> Any:
    """The course's own part of this name, which is called in the same way."""
    part = PARTS[name]
    if not part.course:
        from course_lib.checks import load_item

        return load_item(part.item).reference
    module, _, attribute = part.course.partition(":")
    return getattr(import_module(module), attribute)


_library: ContextVar[Library | None] = ContextVar("library", default=None)


def own_library() -> Library | None:
    """Where parts come from: what ``using`` has set, else the copy of the course in which the
    program runs; None where it runs in none.
    """
    library = _library.get()
    if library is None and (work := work_around(Path.cwd())):
        from course_lib.mine.library import library_of

        library = library_of(work)
    return library


@contextmanager
def using(library: Library) -> Iterator[None]:
    """In the block, parts come from this library."""
    token = _library.set(library)
    try:
        yield
    finally:
        _library.reset(token)


def work_around(folder: Path) -> Path | None:
    """The learner's copy of the course that a folder is in, None if it is in none."""
    return next((each for each in (folder, *folder.parents) if (each / WORK_MARK).is_dir()), None)
