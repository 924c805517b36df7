"""A run that a learner hands in beside a notebook: its log and its weights, and what they show.

The two files may have been written by anybody: their sizes are limited before they are read, the
tensors must be those of the recipe ``mine``, and nothing else in them counts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from course_lib.atomic import replace_atomically, write_atomically
from course_lib.data import Pair, load_corpus
from course_lib.decoding import Translator
from course_lib.errors import CourseError, shortened
from course_lib.regular_file import IrregularFile, read_regular
from course_lib.run_options import HANDED_IN
from course_lib.training.data.training_data import TrainingData
from course_lib.training.evaluation import teacher_forced, translate_sources
from course_lib.training.metrics import is_exact_match
from course_lib.training.recipes import RECIPES
from course_lib.training.runs.load_translator import load_translator
from course_lib.training.runs.run import Epoch
from course_lib.training.runs.run_files import METRICS

LOG, WEIGHTS = METRICS, "weights.safetensors"
MOST_LOG, MOST_WEIGHTS, MOST_ROWS = 1 << 20, 4 << 20, 5_000
N_SENTENCES = 100  # of the test split, which a learner looks at
NUMBERS = ("step", "loss", "valid_loss", "valid_exact")  # of each validation


@dataclass(frozen=True, kw_only=True)
class HandedInRun:
    """A run that was handed in.

    Attributes:
        rows: the numbers of its validations, in order.
        translator: with its weights, in the course's Transformer.
    """

    rows: Sequence[Epoch]
    translator: Translator

    @property
    def best(self) -> Epoch:
        """The validation whose weights the run keeps: that of the lowest loss."""
        return min(self.rows, key=lambda row: row["valid_loss"])

    @cached_property
    def translations(self) -> list[str]:
        """Greedy translations of the ``sentences``."""
        return [str(each) for each in translate_sources(self.translator, sentences())]

    @cached_property
    def rounded_translations(self) -> list[str]:
        """The same with products in bfloat16: where they differ, so may those of other machines."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return [str(each) for each in translate_sources(self.translator, sentences())]

    @cached_property
    def valid_loss(self) -> float:
        """The loss per token of the weights on the validation pairs of the recipe."""
        return teacher_forced(self.translator, _data(self.translator).encoded_valid)[0]


@cache
def sentences() -> tuple[Pair, ...]:
    """The sentences of the test split that a learner looks at."""
    return tuple(load_corpus(RECIPES["mine"].corpus).pairs("test", N_SENTENCES))


def exact(translations: Sequence[str]) -> list[bool]:
    """Whether each of the ``sentences`` is translated word for word as the grammar does."""
    pairs = zip(translations, sentences(), strict=True)
    return [is_exact_match(each, pair.target_text) for each, pair in pairs]


def hand_in(run: Path, folder: Path) -> None:
    """Copy the log and the best weights of a run, in 16 bits, to where a check looks for them.

    Raises:
        CourseError: there is no such run, or it has no validation yet.
    """
    log, best = run / METRICS, run / "best.safetensors"
    if not log.is_file() or not best.is_file():
        raise CourseError(
            f"expected a run with {log.name} and {best.name} in {run}, found none: has it come to "
            "its first validation? `course train mine --resume` goes on with it"
        )
    model = load_translator(best).model
    weights = {name: p.detach().half().contiguous() for name, p in model.named_parameters()}
    folder.mkdir(exist_ok=True)
    replace_atomically(folder / WEIGHTS, lambda draft: draft.write_bytes(save(weights)))
    write_atomically(folder / LOG, log.read_text("utf-8"))


def read_handed_in_run(folder: Path) -> HandedInRun:
    """The run in a folder ``own_run``.

    Raises:
        CourseError: a file is missing, too large or damaged, or isn't what such a run writes.
    """
    return _run(*_files(folder))


def read_log(folder: Path) -> list[Epoch]:
    """The validations of the run in a folder ``own_run``, from its log alone.

    Raises:
        CourseError: the log is missing, too large or damaged.
    """
    return _rows(_read(folder / LOG, MOST_LOG))


@lru_cache(maxsize=1)  # what was computed of a run is kept as long as its files stay as they are
def _run(log: bytes, weights: bytes) -> HandedInRun:
    return HandedInRun(rows=_rows(log), translator=_translator(weights))


def digest_of_run(beside: Path) -> str:
    """What tells the run beside a notebook from any other; or why it can't be read."""
    try:
        return _digest(*_files(beside / HANDED_IN))
    except CourseError as error:
        return str(error)


def digest_of_weights(beside: Path) -> str:
    """The same for its weights alone; "" where there are none."""
    try:
        return _digest(_read(beside / HANDED_IN / WEIGHTS, MOST_WEIGHTS))
    except CourseError:
        return ""


def _files(folder: Path) -> tuple[bytes, bytes]:
    return _read(folder / LOG, MOST_LOG), _read(folder / WEIGHTS, MOST_WEIGHTS)


def _digest(*files: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(file).digest() for file in files)).hexdigest()


def _read(path: Path, most: int) -> bytes:
    try:
        if path.parent.is_symlink():
            raise IrregularFile("a link")
        return read_regular(path, most=most)
    except IrregularFile as error:
        found = f"more than {most >> 20} MB" if error.why == "too large" else error.why
        if error.why == "unreadable":
            found = error.reason
        raise CourseError(
            f"expected {path.name} in the folder {HANDED_IN} beside the notebook ({found}): the "
            "exercise's hand_in_run() puts it there, once there is a run of yours"
        ) from None


def _rows(log: bytes) -> list[Epoch]:
    try:
        lines = log.decode("utf-8").splitlines()
        if len(lines) == 1:
            raise CourseError(
                f"expected two validations or more in {LOG}, got one: the run was stopped early; "
                "`course train mine --resume` goes on with it"
            )
        if not 2 <= len(lines) <= MOST_ROWS:
            raise ValueError(f"{len(lines)} validations, where a run has from 2 to {MOST_ROWS:,}")
        rows = [_row(json.loads(line)) for line in lines]
        steps = [row["step"] for row in rows]
        if any(later <= earlier for earlier, later in itertools.pairwise(steps)):
            raise ValueError("a step that is not after the one before it")
    except CourseError:
        raise
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise CourseError(
            f"expected {LOG} as a run writes it, a validation in each line, got another file "
            f"({type(error).__name__}: {str(error)[:200]}): was it cut off, or changed?"
        ) from None
    return rows


def _row(row: object) -> Epoch:
    if not isinstance(row, dict):
        raise TypeError("a line is no object")
    numbers: Epoch = {}
    for name in NUMBERS:
        value = row[name]
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise TypeError(f"{name} is no number")
        numbers[name] = number = float(value)
        if not 0 <= number < math.inf:
            raise ValueError(f"{name} is {number}")
    if not 0 < numbers["step"] <= 10**7 or numbers["step"] != int(numbers["step"]):
        raise ValueError(f"step {numbers['step']}")
    return numbers


def _translator(data: bytes) -> Translator:
    made = _untrained()
    parameters = dict(made.model.named_parameters())
    try:
        found = load(data)
        _check(found, parameters)
    except (SafetensorError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise CourseError(
            f"expected {WEIGHTS} with the weights of a run of the recipe `mine`, got others "
            f"({str(error)[:200]}): was it cut off, or is it of another recipe?"
        ) from None
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(found[name])
    return made


def _check(found: dict[str, Tensor], parameters: dict[str, torch.nn.Parameter]) -> None:
    if different := found.keys() ^ parameters.keys():
        name = min(different)
        raise ValueError(
            f"{shortened(name)} is {'missing' if name in parameters else 'no parameter'}"
        )
    for name, weight in found.items():
        shape = tuple(parameters[name].shape)
        if tuple(weight.shape) != shape or weight.dtype != torch.float16:
            raise ValueError(f"{name} should be {shape} numbers of 16 bits")
        if not weight.isfinite().all():
            raise ValueError(f"{name} has entries that are not finite")


def _untrained() -> Translator:
    """A translator of the recipe ``mine`` for the words of its corpus, which the course's own model
    has learned, too.
    """
    words = load_translator(model="small")
    with torch.random.fork_rng(devices=[]):
        return _data(words).new_translator(RECIPES["mine"])


def _data(translator: Translator) -> TrainingData:
    recipe = RECIPES["mine"]
    corpus = load_corpus(recipe.corpus)
    return TrainingData(
        corpus=corpus,
        train=[],
        valid=corpus.pairs("valid", recipe.valid_size),
        source_vocabulary=translator.source_vocabulary,
        target_vocabulary=translator.target_vocabulary,
    )


_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def handed_in_with(folder: Path) -> Iterator[None]:
    """In the block, the run that belongs to an answer is in this folder's ``own_run``."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def run_at_hand() -> HandedInRun:
    """The run that belongs to the answer that is checked: beside the notebook.

    Raises:
        CourseError: as ``read_handed_in_run``.
    """
    return read_handed_in_run((_folder.get() or Path.cwd()) / HANDED_IN)


def evaluate_run_at_hand() -> None:
    """Compute all that a check of the run needs; nothing if the run can't be read."""
    with suppress(CourseError):
        run = run_at_hand()
        _ = run.valid_loss, run.translations, run.rounded_translations
