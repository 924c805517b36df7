"""Read what somebody handed in as plain cells: the file may have been written by anybody.

Nothing of it is executed or rendered. What can't be read is reported in a sentence, so that nobody
gets 0 points without being told.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Literal

from course_lib.checks.table import TOPICS
from course_lib.errors import CourseError
from course_lib.grading.results import list_names, quoted
from course_lib.grading.submissions.which_copy import normal_name
from course_lib.regular_file import IrregularFile, read_regular

MOST_BYTES, MOST_CELLS = 20 << 20, 2000
MOST_NOTEBOOKS, DEEPEST_FOLDER = 50, 6  # that are looked for in a student's folder
MOST_BYTES_IN_ALL = 100 << 20  # of these notebooks
_ARCHIVES = {".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar"}
_ASSIGNMENTS = {f"{number}_{topic}" for number, topic in TOPICS.items()}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


class SubmissionError(CourseError):
    """Something handed in that can't be read: what was expected, what came, what to do."""


@dataclass(frozen=True)
class Cell:
    """A cell as it was handed in; ``id`` and ``grade_id`` are "" where there is none, and
    ``number`` counts the notebook's cells from 1, where it is known.
    """

    kind: Literal["code", "text"]
    source: str
    _: KW_ONLY
    id: str = ""
    grade_id: str = ""
    number: int = 0

    @property
    def is_code(self) -> bool:
        """Whether it is code, and no text."""
        return self.kind == "code"


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A notebook that was handed in: its name, its cells, the SHA-256 of the file, and the version
    of Python that it says it ran with, (0, 0) if it says none.
    """

    name: str
    cells: tuple[Cell, ...]
    sha256: str
    python: tuple[int, int] = (0, 0)


def read_submission(path: Path) -> Submission:
    """The cells of a notebook.

    Raises:
        SubmissionError: it is no regular file, too large, or not a notebook.
    """
    data = read_regular_file(path)
    notebook = _parsed(data, path)
    return Submission(
        name=path.name,
        cells=_cells(notebook, path),
        sha256=hashlib.sha256(data).hexdigest(),
        python=_python(notebook),
    )


def read_regular_file(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """The content of a file that is no link, pipe or device.

    Raises:
        SubmissionError: it is, or it is too large, or it can't be read.
    """
    try:
        return read_regular(path, most=most)
    except IrregularFile as error:
        why, reason = error.why, error.reason
    if why == "unreadable":
        raise SubmissionError(
            f"could not read {quoted(path)} ({reason}): is it there, and readable?"
        )
    if why == "too large":
        raise SubmissionError(
            f"{quoted(path)} has more than {most >> 20} MB: are large outputs stored in it? "
            "ask for it again after Edit → Clear Outputs of All Cells"
        )
    raise SubmissionError(
        f"expected a file at {quoted(path)}, got {why}, which is not followed: ask for the "
        "notebook itself"
    )


def _parsed(data: bytes, path: Path) -> dict[str, Any]:
    if data.startswith(b"PK\x03\x04"):
        raise SubmissionError(
            f"expected a notebook, which is JSON, in {quoted(path)}, got a zip archive or a Word "
            "document, which is one: was it renamed? ask for the notebook itself"
        )
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        notebook = json.loads(data.decode(encoding))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise SubmissionError(
            f"expected a notebook, which is JSON, in {quoted(path)} ({reason}): was it cut off, "
            "or is it another kind of file? ask for it again"
        ) from None
    if not isinstance(notebook, dict):
        raise _no_notebook(path, type(notebook).__name__)
    return notebook


def _no_notebook(path: Path, got: str) -> SubmissionError:
    return SubmissionError(
        f"expected a notebook with a list of cells in {quoted(path)}, got {got}: is it "
        "another kind of file? ask for it again"
    )


def _cells(notebook: dict[str, Any], path: Path) -> tuple[Cell, ...]:
    cells = notebook.get("cells")
    if cells is None and isinstance(sheets := notebook.get("worksheets"), list):  # format 3
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        cells = [cell for part in lists if isinstance(part, list) for cell in part]
    if not isinstance(cells, list):
        raise _no_notebook(path, "no cells" if cells is None else type(cells).__name__)
    if len(cells) > MOST_CELLS:
        raise SubmissionError(
            f"expected at most {MOST_CELLS} cells in {quoted(path)}, got {len(cells)}: is it this "
            "exercise?"
        )
    return tuple(_cell(cell) for cell in cells if isinstance(cell, dict))


def _cell(cell: dict[str, Any]) -> Cell:
    metadata = cell.get("metadata")
    grading = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = grading.get("grade_id") if isinstance(grading, dict) else None
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    kind: Literal["code", "text"] = "code" if cell.get("cell_type") == "code" else "text"
    return Cell(kind, _clean(source), id=_clean(cell.get("id")), grade_id=_clean(grade_id))


def _python(notebook: dict[str, Any]) -> tuple[int, int]:
    metadata = notebook.get("metadata")
    language = metadata.get("language_info") if isinstance(metadata, dict) else None
    version = language.get("version") if isinstance(language, dict) else None
    found = re.match(r"(\d{1,3})\.(\d{1,3})\b", version) if isinstance(version, str) else None
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _clean(text: Any) -> str:
    """Text with one kind of line end and without a byte order mark and broken characters.

    "" for anything else.
    """
    if not isinstance(text, str):
        return ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    return text.encode("utf-8", "replace").decode("utf-8")


def find_notebooks(path: Path, assignment: str) -> list[Path]:
    """The notebooks that a student may have handed in for an assignment, sorted by name.

    Args:
        path: a notebook, or the student's folder. Folders in it that are named after another
            assignment do not count.
        assignment: such as "06_masks".

    Raises:
        SubmissionError: there is none, or there are too many, or they are too large.
    """
    if path.is_symlink() or not path.is_dir():
        if path.suffix.lower() == ".ipynb":
            return [path]
        if path.suffix.lower() in _ARCHIVES and not path.is_symlink():
            raise SubmissionError(
                f"expected a notebook or a folder with one at {quoted(path)}, got an archive: "
                "unpack it into a folder with the student's name, and delete it here"
            )
        raise SubmissionError(
            f"expected a notebook or a folder with one at {quoted(path)}, got something else: put "
            "each student's work in a folder of its own"
        )
    found = sorted((each for each, why in _holders(path, assignment) if not why), key=str)
    if not found:
        not_read = f"{what_is_not_read(path, assignment)} ".lstrip()
        raise SubmissionError(
            f"expected a notebook (.ipynb) in {quoted(path)}, got none. {not_read}Was the folder "
            "handed in empty, or the notebook saved as another kind of file? Names that begin with "
            "a dot aren't read."
        )
    if len(found) > MOST_NOTEBOOKS:
        raise SubmissionError(
            f"expected at most {MOST_NOTEBOOKS} notebooks in {quoted(path)}, got {len(found)}: "
            "ask which one counts"
        )
    total = sum(min(each.lstat().st_size, MOST_BYTES) for each in found)  # no more of one is read
    if total > MOST_BYTES_IN_ALL:
        raise SubmissionError(
            f"expected at most {MOST_BYTES_IN_ALL >> 20} MB of notebooks in {quoted(path)}, got "
            f"{total >> 20}: are large outputs stored in them? Ask which one counts"
        )
    return found


def what_is_not_read(path: Path, assignment: str) -> str:
    """A sentence about what may hold a notebook and is not read; "" if there is nothing."""
    if path.is_symlink() or not path.is_dir():
        return ""
    found = _holders(path, assignment)
    skipped = sorted(f"{quoted(each.relative_to(path))} ({why})" for each, why in found if why)
    return f"Not read: {list_names(skipped)}." if skipped else ""


def _holders(
    folder: Path, assignment: str, *, depth: int = DEEPEST_FOLDER, other: str = ""
) -> Iterator[tuple[Path, str]]:
    """The notebooks in a folder and in the folders in it, each with "", and what else may be or
    hold one, with the reason why it is not read. ``other`` is the assignment whose folder this is.
    """
    released = {assignment, assignment.partition("_")[2]}
    for entry in _scanned(folder):
        path, name = Path(entry.path), normal_name(entry.name)
        hidden = entry.name.startswith(".")
        if entry.is_dir(follow_symlinks=False):
            inner = name if name in _ASSIGNMENTS - {assignment} else other
            if depth > 0:
                yield from _holders(path, assignment, depth=depth - 1, other=inner)
            elif not inner:
                yield path, "too many folders deep"
        elif path.suffix.lower() == ".ipynb" and not hidden:
            if not other:
                yield path, ""
            elif not name.startswith(other.partition("_")[2]):
                yield path, f"in a folder {other}"
        elif other:
            continue
        elif path.suffix.lower() in _ARCHIVES:
            yield path, "unpack it"
        elif entry.is_symlink():
            yield path, "a link, which is not followed"
        elif ".ipynb" in entry.name.lower() or _stem(entry.name) in released:
            yield path, "its name begins with a dot" if hidden else "its name has another ending"


def _stem(name: str) -> str:
    """The name before its first dot, as assignments are written."""
    return normal_name(name.partition(".")[0])


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder, without hidden entries such as .ipynb_checkpoints with older copies; but
    with hidden notebooks, which macOS' companions of files (._masks.ipynb) are not.
    """
    try:
        return [
            entry
            for entry in os.scandir(folder)
            if not entry.name.startswith(".")
            or (".ipynb" in entry.name and entry.name[1] != "_" and not entry.is_dir())
        ]
    except OSError as error:
        raise SubmissionError(
            f"could not read {quoted(folder)} ({error.strerror}): may you read it?"
        ) from None
