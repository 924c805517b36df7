"""What in a learner's source a person should look at. A flag never deducts points by itself."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain

from course_lib.checks.engine.ready_made import READY_MADE
from course_lib.grading.submissions.transplant import CodeCell

# Names that exercises have no use for, and that attempts to cheat or to escape need.
_UNUSUAL = {
    *("ctypes", "gc", "subprocess", "socket", "multiprocessing", "signal", "builtins"),
    *("importlib", "__import__", "_exit", "os.system", "sys"),
    *("_getframe", "settrace", "setprofile", "__subclasses__", "__globals__", "__code__"),
    *("__torch_function__", "__torch_dispatch__", "get_objects", "get_referrers", "atexit"),
    *("course_lib.grading", "course_lib.checks.engine", "course_lib.checks.items", "load_item"),
    *("eval(", "exec(", "compile("),  # but model.eval() and re.compile() are usual
}
_MOST = 10  # flags of one item
_MOST_CHARACTERS = 500_000  # that are looked at for one item: 20 MB take minutes

_MOST_NORMALIZED = 200  # characters of a name; no unusual one is as long
_DOTTED = re.compile(r"([\w.]+)(\(?)")  # takes each character once: a line may have millions


def find_flags(
    item_id: str, cells: Sequence[CodeCell], *, others: Collection[str] = ()
) -> tuple[str, ...]:
    """The flags of an item: ready-made functions in its answer first, then unusual names.

    Args:
        item_id: such as "06.bug".
        cells: of the submission.
        others: the items at which the unusual names in their answers are flagged, so not at this
            one; the first item also has those of the cells that are no answer.
    """
    found: dict[str, None] = {}  # as an ordered set
    theirs = [cell for cell in cells if not cell.ours]
    for flag in chain(
        _too_long(theirs),
        _ready_made(item_id, [cell for cell in theirs if cell.item in ("", item_id)]),
        _unusual_names([cell for cell in theirs if cell.item not in others]),
    ):
        found[flag] = None
        if len(found) == _MOST:  # a cell may have millions more
            break
    return tuple(found)


def _too_long(cells: Sequence[CodeCell]) -> Iterator[str]:
    if sum(len(cell.source) for cell in cells) > _MOST_CHARACTERS:
        most = f"{_MOST_CHARACTERS:,}"
        yield f"more than {most} characters of code: nothing was looked for in the rest"


def _ready_made(item_id: str, cells: Sequence[CodeCell]) -> Iterator[str]:
    names = sorted({name.rpartition(".")[2] for name in READY_MADE.get(item_id, ())})
    for where, text in _lines_of(cells if names else ()):
        for name in names:
            if _is_imported_or_looked_up(name, text):
                yield f"ready-made for this item: {name} {where}"


def _unusual_names(cells: Sequence[CodeCell]) -> Iterator[str]:
    """Each name once, where it stands first: many lines with one must not crowd out another."""
    known: set[str] = set()
    for where, text in _lines_of(cells):
        for name in _unusual(text):
            if name not in known:
                known.add(name)
                yield f"unusual in this course: {name} {where}"


def _lines_of(cells: Iterable[CodeCell]) -> Iterator[tuple[str, str]]:
    """The lines of cells, of so many characters in all, and where each is."""
    left = _MOST_CHARACTERS
    for cell in cells:
        source, left = cell.source[:left], max(0, left - len(cell.source))
        for line, text in enumerate(StringIO(source), 1):
            yield f"(cell {cell.name}, line {line})", text


# The source is read as text: parsing a hostile one could crash this process.
def _unusual(text: str) -> Iterator[str]:
    for dotted, bracket in _DOTTED.findall(_code(text)):
        if not dotted.isascii():  # Python reads ｇｃ as gc
            dotted = unicodedata.normalize("NFKC", dotted[:_MOST_NORMALIZED])
        parts = dotted.split(".")
        names = {dotted, *parts, *(() if "." in dotted else [dotted + bracket])}
        names |= {".".join(parts[:2]), ".".join(parts[:3])}  # what a longer name begins with
        yield from sorted(name.rstrip("(") for name in names & _UNUSUAL)


def _code(text: str) -> str:
    """A line without its comment; all of it if the # may be part of a string."""
    before = text.partition("#")[0]
    return text if "'" in before or '"' in before else before


def _is_imported_or_looked_up(name: str, text: str) -> bool:
    """Whether a line takes the name from somewhere; a learner may define it, or call their own."""
    code = _code(text)
    imported = re.match(rf"\s*(from|import)\b.*\b{name}\b", code)
    return bool(imported or re.search(rf"(?<!\bself)\.{name}\b", code))
