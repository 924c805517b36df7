"""An exercise under other conventions: what they are, and the hints and checks of its notebook."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from course_lib.checks import TABLE, load_item
from course_lib.checks.conventions import Convention, conventions_of
from course_lib.checks.engine.item import Item
from course_lib.checks.report.report_html import folded_hints
from course_lib.grading.submissions.exercise import ReleasedCell, released_cell

_CARD = re.compile(r"^`\d\d\.\w+` · .*$", re.MULTILINE)
_COLAB = re.compile(
    r"^\[[^\]]*\]\(https://colab\.research\.google\.com/github/([^)]*?)/exercises/[^)]*\)\n*",
    re.MULTILINE,
)
_DOCSTRING = re.compile(r'^ +"""(?:.*?)"""\n', re.MULTILINE | re.DOTALL)
_HEAD = (
    "> **Conventions for your group.** The task below is the lesson's, word for word. Where its "
    "text, its title or the first lines of your cell say otherwise, these conventions count:"
)
_NONE_HERE = "> **No conventions for your group here**: this task follows the lesson."
STAMP = re.compile(r"Your variant: `([0-9a-f]{12})`")


def variant_notebook(notebook: dict[str, Any], names: Sequence[str], stamp: str) -> dict[str, Any]:
    """A copy of an exercise's notebook under these conventions.

    Args:
        notebook: as released, as JSON has it.
        names: of conventions; each item takes those that it knows. Without any, nothing changes.
        stamp: twelve hexadecimal digits, by which the grader recognises the variant.

    Tasks stay as they are, below what the conventions say. Hints that a convention may make false
    are left out, and so are docstrings.
    """
    notebook = copy.deepcopy(notebook)
    if not names:
        return notebook
    released = [released_cell(cell) for cell in notebook["cells"]]
    for cell, known in zip(notebook["cells"], released, strict=True):
        if known.id == "title":
            _rewrite(cell, _titled(known.source, stamp))
            continue
        checked = known.item and TABLE[known.item].kind != "written"
        conventions = _chosen(load_item(known.item), names) if checked else ()
        if conventions:
            _rewrite(cell, _cell_source(known, conventions))
        elif known.role == "task":
            _rewrite(cell, _after_card(known.source, _NONE_HERE))
    return notebook


def _chosen(item: Item, names: Sequence[str]) -> tuple[Convention, ...]:
    return tuple(each for each in conventions_of(item) if each.name in names)


def _cell_source(cell: ReleasedCell, conventions: Sequence[Convention]) -> str:
    """A cell of an item under these conventions."""
    names = [each.name for each in conventions]
    if cell.role == "task":
        paragraphs = "\n".join(f"> - {each.paragraph}" for each in conventions)
        return _after_card(cell.source, f"{_HEAD}\n>\n{paragraphs}")
    if cell.role == "hints":
        return folded_hints(load_item(cell.item, names).hints)
    if cell.role == "check":
        return cell.source.rstrip().removesuffix(")") + f", conventions={json.dumps(names)})"
    return without_false_docstrings(cell.source, conventions)


def without_false_docstrings(source: str, conventions: Sequence[Convention]) -> str:
    """The first lines of an answer, without a docstring that a convention touches."""
    return _DOCSTRING.sub(
        lambda found: "" if any(each.touches(found[0]) for each in conventions) else found[0],
        source,
    )


def _after_card(task: str, block: str) -> str:
    """A task with a block of text below the line about its difficulty and points."""
    return _CARD.sub(lambda card: f"{card[0]}\n\n{block}", task, count=1)


def _titled(source: str, stamp: str) -> str:
    """The title with its stamp, without a link that would open the public exercise."""
    found = _COLAB.search(source)
    if found:
        source = _COLAB.sub("", source).replace("](../../", f"](https://github.com/{found[1]}/")
    return (
        f"{source}\n\n**Your variant: `{stamp}`.** Tasks that your group solves under other "
        "conventions than the lesson's say so at their heads. Leave this line as it is."
    )


def _rewrite(cell: dict[str, Any], source: str) -> None:
    """Give a cell another source, and nbgrader's checksum of it."""
    cell["source"] = source.splitlines(keepends=True)
    grading = cell["metadata"]["nbgrader"]
    if "checksum" in grading:
        parts = [source, cell["cell_type"]]
        parts += [str(grading[role]) for role in ("grade", "solution", "locked")]
        parts.append(grading["grade_id"])
        if grading["grade"]:
            parts.append(str(float(grading["points"])))
        grading["checksum"] = hashlib.md5("".join(parts).encode()).hexdigest()
