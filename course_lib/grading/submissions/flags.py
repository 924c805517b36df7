"""What in a learner's source a person should look at. A flag never deducts points by itself."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain

from course_lib.checks.engine.ready_made import READY_MADE
from course_lib.grading.submissions.transplant import CodeCell

# Names that exercises have no use for, and that attempts to cheat or to escape need.
_UNUSUAL = {
    *("ctypes", "gc", "subprocess", "socket", "multiprocessing", "signal", "builtins"),
    *("runpy", "torch._refs", "torch._decomp", "torch._prims", "addaudithook"),
    *("importlib", "__import__", "_exit", "os.system", "sys"),
    *("_getframe", "settrace", "setprofile", "__subclasses__", "__globals__", "__code__"),
    *("__torch_function__", "__torch_dispatch__", "get_objects", "get_referrers", "atexit"),
    *("course_lib.grading", "course_lib.checks.engine", "course_lib.checks.items", "load_item"),
    *("eval(", "exec(", "compile("),  # but model.eval() and re.compile() are usual
}
_MOST = 10  # flags of one item
_MOST_CHARACTERS = 500_000  # that are looked at for one item: 20 MB take minutes

_MOST_NORMALIZED = 200  # characters of a name; no unusual one is as long
# Each takes a character once: a line may have millions.
_DOTTED = re.compile(r"([\w.]+)(\(?)")
_IMPORT = re.compile(
    r"(?:^|[;:])[^\S\n]*(?:from[^\S\n]+[\w.]+[^\S\n]+)?import\b[^\n(]*(?:\([^)]*)?", re.MULTILINE
)
_NOT_INDENTED = re.compile(r"^\w+", re.MULTILINE)  # how a statement begins


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
        _ready_made(item_id, theirs),
        _unusual_names(
            [cell for cell in theirs if cell.item not in others],
            {_packed(line) for cell in cells if cell.ours for line in cell.source.split("\n")},
        ),
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
    """In any cell, since an answer may use what a cell above it takes from somewhere. But a class
    that answers another item may use what is ready-made for this one.
    """
    names = {name.rpartition(".")[2] for name in READY_MADE.get(item_id, ())}
    left = _MOST_CHARACTERS
    for cell in cells if names else ():
        source, left = cell.source[:left], max(0, left - len(cell.source))
        code = "\n".join(map(_code, source.replace("\\\n", "\v").split("\n")))
        known: set[str] = set()
        for index, name in _taken(code, names, in_classes=cell.item in ("", item_id)):
            if name not in known:
                known.add(name)
                line = 1 + sum(code.count(end, 0, index) for end in "\n\v")
                yield f"ready-made for this item: {name} (cell {cell.name}, line {line})"


def _unusual_names(cells: Sequence[CodeCell], released: Collection[str]) -> Iterator[str]:
    """Each name once, where it stands first: many lines with one must not crowd out another.

    Lines as they were released say nothing: somebody may have put two cells together.
    """
    known: set[str] = set()
    for where, text in _lines_of(cells):
        for name in _unusual(text) if _packed(text) not in released else ():
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


def _packed(line: str) -> str:
    """A line without the space in it, and with one kind of quotation marks."""
    return "".join(line.split()).replace("'", '"')


def _taken(code: str, names: Collection[str], *, in_classes: bool) -> Iterator[tuple[int, str]]:
    """Where code takes a name from somewhere, in classes or only outside of them; a learner may
    define it, and a class may call its own.
    """
    for part in _IMPORT.finditer(code):
        for word in re.finditer(r"\w+", part[0]):
            if word[0] in names:
                yield part.start() + word.start(), word[0]
    # "03.layer_norm" is an item.
    statements = [(each.start(), each[0] == "class") for each in _NOT_INDENTED.finditer(code)]
    for found in re.finditer(rf"(\bself)?(?<!\b\d\d)\.\s*({'|'.join(sorted(names))})\b", code):
        before = bisect_left(statements, (found.start(), False))
        in_class = before > 0 and statements[before - 1][1]
        if not in_class or (in_classes and not found[1]):
            yield found.start(2), found[2]
