"""A learner's own copy of the course, which an update never overwrites.

In ``.course`` the copy keeps the release that it was made from, in ``backup`` what was replaced.
"""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_notebook

from course_lib.atomic import below, replace_atomically
from course_lib.checks.progress import FORMER_IDS, note_reset
from course_lib.checks.table import TABLE, TOPICS, cell_id
from course_lib.errors import CourseError
from course_lib.widget_output import WIDGET_VIEW
from course_lib.wording import did_you_mean
from course_lib.work_copy.folders import path_inside
from course_lib.work_copy.merge import Merged, is_answer, merge, nbgrader_name

PARTS = ("notebooks", "exercises", "solutions", "docs")  # lessons link to pages in docs
# What an assistant reads before it helps; the second names the first, for Claude Code before
# version 2.1.277 (2026) and wherever it reads no AGENTS.md.
FOR_ASSISTANTS = ("AGENTS.md", "CLAUDE.md")
RELEASE, BACKUP = ".course", "backup"


def released(course: Path) -> list[Path]:
    """The files of a release, relative to its folder.

    Raises:
        CourseError: there are none.
    """
    files = [
        path.relative_to(course)
        for part in PARTS
        for path in sorted((course / part).rglob("*"))
        if path.is_file() and not path.parent.name.startswith(".")
    ]
    files += [Path(name) for name in FOR_ASSISTANTS if (course / name).is_file()]
    if not any(path.suffix == ".ipynb" for path in files):
        cure = "install the course again, or clone its repository and run `make lab` there"
        if course.name == RELEASE:
            cure = "delete that folder and run `course update`, which leaves your own files alone"
        raise CourseError(f"expected lessons in {course}, found none: {cure}")
    return files


def create(work: Path, course: Path) -> bool:
    """Copy the course unless that was done before, and say whether it was now.

    Files that are there already stay as they are.

    Raises:
        CourseError: there is no course, or the copy cannot be written.
    """
    if (work / RELEASE).is_dir():
        return False
    names, incomplete = released(course), work / f"{RELEASE}-incomplete"
    _refuse_links(work, names)
    for name in names:
        if not (work / name).exists():
            _copy(course / name, work / name)
        _copy(course / name, incomplete / name)
    incomplete.rename(work / RELEASE)  # only now: a copy that was interrupted is begun again
    return True


def _refuse_links(work: Path, names: Sequence[Path]) -> None:
    """Refuse a copy in which a link would lead out of it what is written or deleted."""
    for folder in ("", RELEASE, f"{RELEASE}-incomplete"):
        for name in names:
            below(work, folder, name)


def outdated(work: Path, course: Path) -> list[Path]:
    """The notebooks of the course that have changed since the copy was made or updated."""
    return [
        name
        for name in released(course)
        if name.suffix == ".ipynb" and _bytes(work / RELEASE / name) != _bytes(course / name)
    ]


def update(work: Path, course: Path) -> list[str]:
    """Bring the course's changes into the copy, and say in a line for each file what happened.

    A notebook that the learner changed is merged cell by cell, after a backup.

    Raises:
        CourseError: there is no course, or the copy cannot be written.
    """
    if create(work, course):
        return [f"{work} is new: all lessons and exercises were copied"]
    before, now = released(work / RELEASE), released(course)
    _refuse_links(work, [*before, *now])
    gone = [name for name in before if name not in now]
    former = _former_names(work / RELEASE, gone, course, [n for n in now if n not in before])
    files = (_File(work=work, course=course, name=n, former=former.get(n, n)) for n in now)
    lines = [_updated(file) for file in files]
    lines += [_dropped(work, name) for name in gone if name not in former.values()]
    return [line for line in lines if line]


def reset(work: Path, what: str) -> str:
    """Put back an answer or a whole notebook as the course released it, and say where yours is.

    Args:
        what: an item's id, or a notebook by its path in the copy.

    Raises:
        CourseError: there is no copy, or no such item or notebook in it.
    """
    if not (work / RELEASE).is_dir():
        raise CourseError(f"expected a copy of the course in {work}, found none: run `course lab`")
    known, inside = released(work / RELEASE), path_inside(Path(os.path.abspath(what)), work)
    if what in TABLE:
        return _reset_answer(work, what)
    name = inside if inside in known else Path(what)
    if name.suffix != ".ipynb" or name not in known:
        raise CourseError(
            f"expected an item such as 06.padding_mask or a notebook such as "
            f"{work / 'exercises' / '06_masks' / 'masks.ipynb'}, got {what!r}"
            f"{did_you_mean(what, TABLE)}"
        )
    return _reset_notebook(work, name)


def exercise_path(item_id: str) -> Path:
    """The notebook in which an item is answered, relative to the copy."""
    number = item_id.split(".")[0]
    return Path("exercises", f"{number}_{TOPICS[number]}", f"{TOPICS[number]}.ipynb")


def _reset_notebook(work: Path, name: Path) -> str:
    """Put back a whole notebook, and say where the learner's is."""
    saved = _back_up(work, name)
    _copy(work / RELEASE / name, below(work, name))
    note_reset([item for item in TABLE if exercise_path(item) == name])
    return f"{name} is as the course released it" + (f"; yours is in {saved}" if saved else "")


def _reset_answer(work: Path, item: str) -> str:
    """Put back the answer of an item, and say where the learner's is."""
    name = exercise_path(item)
    start = work / RELEASE / name
    try:
        base = _read(start) if start.is_file() else new_notebook()
    except CourseError as error:
        raise CourseError(
            f"{error}: delete {work / RELEASE} and run `course update`, which leaves your own "
            "files alone"
        ) from error
    fresh = {
        cell.id: cell
        for cell in base.cells  # the check's output is that of your answer, so it goes, too
        if cell.id.startswith(cell_id(item, ""))
        and (is_answer(cell) or cell.id == cell_id(item, "check"))
    }
    if not fresh:
        raise CourseError(
            f"expected {item} in the release that {work} was made from, found none: it is older "
            "than this item, so run `course update`"
        )
    if not (work / name).exists():
        return _reset_notebook(work, name)
    saved = _back_up(work, name)
    try:
        mine = _read(work / name)
    except CourseError as error:
        raise CourseError(
            f"{error}: put all of it back with `course reset {name}`; yours is in {saved}"
        ) from error
    merged = merge(base, base, mine=mine).notebook  # an answer that was deleted is there again
    merged.cells = [fresh.get(cell.id, cell) for cell in merged.cells]
    _sign(merged, base, mine)
    _write(merged, work / name)
    note_reset([item])
    return f"{item} in {name} is as the course released it; yours is in {saved}"


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file of the course, and what it was called when the copy was made."""

    work: Path
    course: Path
    name: Path
    former: Path

    @property
    def start(self) -> Path:
        """As it was released then."""
        return self.work / RELEASE / self.former

    @property
    def now(self) -> Path:
        """As it is released now."""
        return self.course / self.name

    @property
    def mine(self) -> Path:
        """The learner's."""
        return self.work / self.former

    @property
    def renamed(self) -> bool:
        return self.former != self.name

    @property
    def headline(self) -> str:
        """How its line begins wherever the update took it over."""
        return f"{self.name}: up to date" + f" (it was {self.former})" * self.renamed


def _updated(file: _File) -> str:
    """Bring one file up to date, and say how in a line; "" if there was nothing to do.

    | in the course | in the copy | what happens |
    |---|---|---|
    | as it was | there | nothing |
    | as it was | missing | put back |
    | changed or renamed | missing, or as released | replaced |
    | changed or renamed | a notebook that the learner changed | merged, or else put beside it |
    | changed | a file for assistants with other text, as an instructor's rule | put beside it |
    | changed or renamed | another file that the learner changed | replaced after a backup |
    """
    mine = file.mine
    if not file.renamed and _bytes(file.start) == _bytes(file.now):
        return "" if mine.exists() else _put_back(file)
    # Only the new name of a renamed file can be taken by another file of the learner's.
    replaced = _replaced(file.work, file.name, file.now) if file.renamed else ""
    left = False
    if _is_released(file.work, file.former, file.start, file.now):
        _copy(file.now, file.work / file.name)
        line = file.headline + replaced
    elif str(file.name) in FOR_ASSISTANTS:
        line = _put_beside(file, "you or an instructor changed it", replaced)
    elif file.name.suffix != ".ipynb":
        line = f"{file.headline}; your own changes are in {_back_up(file.work, file.former)}"
        _copy(file.now, file.work / file.name)
    else:
        try:
            merged = _merged(_read(file.start), _read(file.now), _read(mine))
        except CourseError as error:
            left, line = True, _put_beside(file, str(error), replaced)
        else:
            line = _put_together(file, merged, replaced)
    _copy(file.now, file.work / RELEASE / file.name)
    if file.renamed:
        file.start.unlink()
        if not left:
            mine.unlink(missing_ok=True)
    return line


def _put_back(file: _File) -> str:
    _copy(file.now, file.mine)
    return f"{file.name}: was missing, and is back"


def _put_beside(file: _File, reason: str, replaced: str) -> str:
    """Leave a file that cannot be merged, and store the course's under another name."""
    new_name = f"{file.name.stem}-new{file.name.suffix}"
    beside = file.name if file.renamed else file.name.with_name(new_name)
    replaced = replaced or _replaced(file.work, beside, file.start, file.now)
    _copy(file.now, file.work / beside)
    return f"{file.former}: left as it is, because {reason}. The new one is {beside}{replaced}"


def _put_together(file: _File, merged: Merged, replaced: str) -> str:
    """Store a merged notebook, after a backup of the learner's."""
    saved = _back_up(file.work, file.former)
    _write(merged.notebook, file.work / file.name)
    cells = f"{merged.kept} cell{'s' * (merged.kept != 1)} of yours"
    yours = cells if merged.kept else "what you ran"
    line = f"{file.headline}, with {yours}; before the update it was {saved}{replaced}"
    return line + "".join(f"\n  {remark}" for remark in merged.remarks)


def _replaced(work: Path, name: Path, *released: Path) -> str:
    """Back up what is about to be replaced, unless it is as released, and say where it is."""
    if _is_released(work, name, *released):
        return ""
    return f"; the {name.name} that you had is in {_back_up(work, name)}"


def _dropped(work: Path, name: Path) -> str:
    """Take away a file that the course no longer has, unless the learner changed it."""
    mine, start = work / name, work / RELEASE / name
    unchanged = _is_released(work, name, start)
    start.unlink()
    if not mine.exists():
        return ""
    if unchanged:
        mine.unlink()
        return f"{name}: the course no longer has it, and you had not changed it; removed"
    return f"{name}: the course no longer has it; yours was left where it is"


def _former_names(
    before: Path, gone: list[Path], course: Path, added: list[Path]
) -> dict[Path, Path]:
    """For each notebook that is new under its name, the one that had most of its cells before."""
    former: dict[Path, Path] = {}
    cells = {name: _cell_ids(before / name) for name in gone if name.suffix == ".ipynb"}
    for name in (name for name in added if name.suffix == ".ipynb"):
        here = _cell_ids(course / name)
        share = {
            old: len(here & (ids | {_new_cell_id(i) for i in ids})) / max(len(here), len(ids), 1)
            for old, ids in cells.items()
        }
        best = max(share, key=lambda old: share[old], default=None)
        if best is not None and share[best] > 0.5:
            former[name] = best
            del cells[best]
    return former


def _cell_ids(path: Path) -> set[str]:
    try:
        return {cell.id for cell in _read(path).cells}
    except CourseError:
        return set()


def _new_cell_id(name: str) -> str:
    """The id of a cell whose item has another id now."""
    for old, new in FORMER_IDS.items():
        old, new = (cell_id(item, "") for item in (old, new))
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def _merged(base: NotebookNode, theirs: NotebookNode, mine: NotebookNode) -> Merged:
    """The merged notebook, trusted by Jupyter if both that it was made from are."""
    merged = merge(base, theirs, mine=mine, new_id=_new_cell_id)
    _sign(merged.notebook, theirs, mine)
    return merged


def _sign(notebook: NotebookNode, *sources: NotebookNode) -> None:
    """Let Jupyter trust a notebook if it trusts all that it was made from."""
    with suppress(OSError):  # no home folder to keep signatures in
        notary = NotebookNotary()
        if all(map(notary.check_signature, sources)):
            notary.sign(notebook)


def _back_up(work: Path, name: Path) -> Path | None:
    """Keep a copy of a file, under the time; None if there is no such file."""
    if not below(work, name).exists():
        return None
    if not (work / name).is_file():
        raise CourseError(
            f"expected a file at {work / name}, found a folder or a pipe: move it out of the way"
        )
    now = time.strftime("%Y-%m-%d_%H-%M-%S")
    folders = (work / BACKUP / f"{now}{more}" for more in ("", *(f"-{n}" for n in range(2, 1000))))
    saved = next(folder / name for folder in folders if not (folder / name).exists())
    _copy(work / name, below(work, saved.relative_to(work)))
    return saved


def _read(path: Path) -> NotebookNode:
    """A notebook, with an id for each cell, also where its format is older than those."""
    try:
        if path.exists() and not path.is_file():
            raise ValueError("it is no file")
        notebook = nbformat.v4.upgrade(nbformat.read(path, as_version=4))
        nbformat.validate(notebook)
        if not all(isinstance(nbgrader_name(cell), str) for cell in notebook.cells):
            raise ValueError("the metadata of nbgrader have another form")
        nbformat.writes(notebook).encode()  # half a character can be read, but not written
    except Exception as error:  # JSON, unicode, and several kinds of nbformat's own
        text = textwrap.shorten(f"{type(error).__name__}: {error}", 200, placeholder=" …")
        raise CourseError(f"{path} could not be read as a notebook ({text})") from None
    return notebook


def _write(notebook: NotebookNode, path: Path) -> None:
    replace_atomically(path, lambda draft: nbformat.write(notebook, draft))


def _copy(source: Path, target: Path) -> None:
    replace_atomically(target, lambda draft: draft.write_bytes(source.read_bytes()))


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _is_released(work: Path, name: Path, *released: Path) -> bool:
    """Whether a file is missing, or has nothing that a person wrote or ran.

    If other things in it have changed, such as tags, a backup is made, and not worth a line.
    """
    if not (work / name).exists():
        return True
    if _written(work / name) not in [_written(path) for path in released]:
        return False
    if _but_language(work / name) not in [_but_language(path) for path in released]:
        _back_up(work, name)
    return True


def _but_language(path: Path) -> object:
    """All that is in a file, but what JupyterLab writes into a notebook that is only opened."""
    try:
        notebook = _read(path)
    except CourseError:
        return _bytes(path)
    notebook.metadata.pop("language_info", None)
    return notebook


def _written(path: Path) -> object:
    """What a person wrote or ran in a file: of a notebook its cells and their outputs.

    An editor that only saves a notebook may change the rest: metadata, ids, views of widgets, and
    how the file is laid out.
    """
    if path.suffix != ".ipynb" or not path.is_file():
        return _bytes(path)
    try:
        cells = _read(path).cells
    except CourseError:
        return _bytes(path)
    for output in (output for cell in cells for output in cell.get("outputs", [])):
        output.pop("execution_count", None)
        output.pop("metadata", None)
        output.get("data", {}).pop(WIDGET_VIEW, None)
    parts = ("cell_type", "source", "attachments", "outputs")
    return [[cell.get(part) or None for part in parts] for cell in cells]
