"""An exercise under other conventions: texts, stubs, hints and checks of its notebook."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from course_lib.checks import load_item
from course_lib.checks.conventions import Convention, chosen, conventions_of
from course_lib.checks.conventions.variant_item import under
from course_lib.checks.engine.item import Item
from course_lib.checks.report.feedback import folded_hints
from course_lib.errors import CourseError
from course_lib.grading.submissions.exercise import ReleasedCell, released_cell

_CARD = re.compile(r"^`\d\d\.\w+` · .*$", re.MULTILINE)
_COLAB = re.compile(
    r"^\[[^\]]*\]\(https://colab\.research\.google\.com/github/([^)]*?)/exercises/[^)]*\)\n*",
    re.MULTILINE,
)
_NONE_HERE = "> **No conventions of your own here**: this task follows the lesson."
STAMP = re.compile(r"Your variant: `([0-9a-f]{12})`")


def variant_notebook(notebook: dict[str, Any], names: Sequence[str], stamp: str) -> dict[str, Any]:
    """A copy of an exercise's notebook under these conventions.

    Args:
        notebook: as released, as JSON has it.
        names: of conventions; each item takes those that it knows. Without any, nothing changes.
        stamp: twelve hexadecimal digits, by which the grader recognises the variant.

    Raises:
        CourseError: a text that a convention has to change is not there.
    """
    notebook = copy.deepcopy(notebook)
    if not names:
        return notebook
    released = [released_cell(cell) for cell in notebook["cells"]]
    for cell, known in zip(notebook["cells"], released, strict=True):
        if known.id == "title":
            _rewrite(cell, _titled(known.source, stamp))
            continue
        conventions = chosen(known.item, _taken(known.item, names)) if known.item else ()
        if known.role == "task" and not conventions:
            _rewrite(cell, _after_card(known.source, _NONE_HERE))
        elif conventions:
            texts = [each.source for each in released if each.item == known.item]
            _require_phrases(load_item(known.item), conventions, texts)
            _rewrite(cell, _cell_source(known, conventions))
    return notebook


def _taken(item_id: str, names: Sequence[str]) -> list[str]:
    return [each.name for each in conventions_of(item_id) if each.name in names]


def _cell_source(cell: ReleasedCell, conventions: Sequence[Convention]) -> str:
    """A cell of an item under these conventions."""
    names = [each.name for each in conventions]
    if cell.role == "hints":
        return folded_hints(load_item(cell.item, names).hints)
    if cell.role == "check":
        return cell.source.rstrip().removesuffix(")") + f", conventions={json.dumps(names)})"
    source = cell.source
    for each in conventions:
        source = each.rewritten(source, cell.item)
    if cell.role != "task":
        return source
    block = "\n".join(f"> - {each.sentence}" for each in conventions)
    block = f"> **Your conventions** (the lesson has others)\n>\n{block}"
    return _after_card(source, block)


def _after_card(task: str, block: str) -> str:
    """A task with a block of text below the line about its difficulty and points."""
    return _CARD.sub(lambda card: f"{card[0]}\n\n{block}", task, count=1)


def _require_phrases(item: Item, conventions: Sequence[Convention], cells: Sequence[str]) -> None:
    """Make sure that every phrase which a convention changes is there to be changed."""
    texts = list(cells)
    for each in conventions:
        missing = each.missing_phrases([*texts, *_texts_of(item)], item.id)
        if missing:
            raise CourseError(
                f"expected the phrase {missing[0]!r} in the texts of {item.id}, for the convention "
                f"{each.name}, and it is not there: bring the convention's `edits` up to date"
            )
        texts = [each.rewritten(text, item.id) for text in texts]
        item = under(item, each)


def _texts_of(item: Item) -> list[str]:
    feedback = [text for m in item.misconceptions for text in (m.symptom, m.why, m.hint)]
    return [*item.hints, *(probe.property for probe in item.probes), *feedback]


def _titled(source: str, stamp: str) -> str:
    """The title with its stamp, without a link that would open the public exercise."""
    found = _COLAB.search(source)
    if found:
        source = _COLAB.sub("", source).replace("](../../", f"](https://github.com/{found[1]}/")
    return (
        f"{source}\n\n**Your variant: `{stamp}`.** Some tasks have conventions of their own, which "
        "stand at their heads; lessons have the usual ones. Leave this line as it is."
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
