"""What an assistant reads before it helps names paths, commands and cells that are there."""

import re
import subprocess
from pathlib import Path

import nbformat
import pytest

from course_lib import cli
from course_lib.checks.table import TABLE, TOPICS
from course_lib.work_copy import folders
from course_lib.work_copy.update import (
    FOR_ASSISTANTS,
    PARTS,
    create,
    exercise_path,
    released,
)
from tests.item_points import points_of
from tools import ROOT

TEXT = (ROOT / "AGENTS.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "assistants.md").read_text("utf-8")
CODE = re.findall(r"`([^`\n]+)`", TEXT + PAGE)
LESSONS = sorted(ROOT.glob("notebooks/*.ipynb"))
EXERCISES = sorted(ROOT.glob("exercises/*/*.ipynb"))
RULES = ("tutor", "forbidden", "free")


def cells_of(path):
    return nbformat.read(path, as_version=4).cells


def test_a_clone_and_a_copy_made_from_it_have_what_assistants_read(tmp_path):
    assert {Path(name) for name in FOR_ASSISTANTS} <= {*released(ROOT)}
    create(tmp_path, ROOT)
    for name in FOR_ASSISTANTS:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes()
    tracked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOR_ASSISTANTS]
    listed = subprocess.run(tracked, cwd=ROOT, capture_output=True, text=True)
    assert listed.returncode or listed.stdout.split() == [*FOR_ASSISTANTS]


def test_the_other_file_only_names_the_first():
    assert (ROOT / "CLAUDE.md").read_text("utf-8") == "@AGENTS.md\n"


def test_the_rule_is_a_word_near_the_top_and_each_word_is_explained():
    [rule] = re.findall(r"^This course's rule: \*\*(\w+)\*\*$", TEXT, re.MULTILINE)
    assert rule == RULES[0]
    assert f"**{rule}**" in TEXT.splitlines()[2]  # the third line, as docs/assistants.md says
    explained = re.findall(r"^- \*\*(\w+)\*\*: ", TEXT.split("## The three rules")[1], re.MULTILINE)
    assert explained == [*RULES]
    for word in RULES:
        assert f"**{word}**" in PAGE


def test_each_lesson_and_its_exercise_are_in_the_table():
    rows = re.findall(r"^\| `notebooks/(\w+)\.ipynb` \| (.+) \|$", TEXT, re.MULTILINE)
    assert [lesson for lesson, _ in rows] == [path.stem for path in LESSONS]
    expected = ["none", *(f"`{exercise_path(f'{number}.x').as_posix()}`" for number in TOPICS)]
    assert [exercise for _, exercise in rows] == expected


def test_paths_are_there():
    for code in CODE:
        if re.fullmatch(
            r"(notebooks|exercises|docs|solutions|course_lib|tools|tests)/[\w./]*", code
        ):
            assert (ROOT / code).exists(), code


def test_links_lead_only_to_what_a_learners_copy_has():
    for link in re.findall(r"\]\(([^)#]+)", TEXT):
        assert link.split("/")[0] in PARTS, link


@pytest.mark.parametrize("kind", ["code", "bug", "cases", "experiment", "written"])
def test_the_items_of_each_kind_and_their_points_are_counted(kind):
    items = [item for item in TABLE.values() if item.kind == kind]
    number, points = len(items), points_of(*(item.id for item in items))
    for counted in (number, points, len(TABLE), points_of(*TABLE)):
        assert re.search(rf"\b{counted}\b", PAGE.split("## For teachers")[1]), counted


@pytest.mark.parametrize("code", sorted({code for code in CODE if code.startswith("course ")}))
def test_commands_and_their_options_are_there(code, capsys):
    _, verb, *words = code.split()
    assert verb in cli.VERBS
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    helped = capsys.readouterr().out
    for word in words:
        if word.startswith("--") and f"`{code}`" in TEXT:
            assert word in helped, code
        elif "." in word:
            assert word in TABLE


@pytest.mark.parametrize("heading", ["What goes wrong", "Check yourself", "What next", "Deeper"])
def test_headings_that_it_promises_are_in_every_lesson(heading):
    assert f"*{heading}*" in TEXT
    for path in LESSONS:
        text = "\n".join(c.source for c in cells_of(path) if c.cell_type == "markdown")
        assert re.search(rf"^## {heading}$", text, re.MULTILINE), path.name


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_cells_are_recognised_as_it_says(path):
    for cell in cells_of(path):
        mark = cell.metadata.nbgrader
        assert mark.solution == cell.id.endswith(("-answer", "-written")), cell.id
        assert mark.locked != mark.solution, cell.id
        if mark.solution:
            begun = "raise NotImplementedError  # your code here" in cell.source
            assert begun or cell.source == "*Your answer here.*", cell.id


def test_the_cells_of_the_item_that_is_its_example_have_the_ids_that_it_says():
    ids = {cell.id for cell in cells_of(ROOT / exercise_path("04.split_heads"))}
    stem = "04-split-heads"
    assert {f"{stem}-{end}" for end in ("task", "hints", "answer", "check")} <= ids
    assert f"`{stem}-task`" in TEXT


def test_headings_of_lessons_that_are_quoted_exist():
    headings = {
        heading
        for path in LESSONS
        for cell in cells_of(path)
        if cell.cell_type == "markdown"
        for heading in re.findall(r"^#+ (.+)$", cell.source, re.MULTILINE)
    }
    quoted = re.findall(r"\*(Q\d+[a-z]\. [^*]+)\*", TEXT + PAGE)
    assert quoted and {*quoted} <= headings


def test_a_wheel_finds_them_where_its_lessons_are():
    text = (ROOT / "setup.py").read_text("utf-8")
    assert f"FOR_ASSISTANTS = {FOR_ASSISTANTS!r}".replace("'", '"') in text
    assert "include " + " ".join(FOR_ASSISTANTS) in (ROOT / "MANIFEST.in").read_text("utf-8")
    assert folders.COURSE == ROOT
