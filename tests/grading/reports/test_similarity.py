"""Copies stand out among independent answers, whatever their names, layout and order."""

import ast
import json
import random
import time
from pathlib import Path

import pytest

from course_lib import cli
from course_lib.grading.class_run.grade import read_hand_in
from course_lib.grading.options import SimilarOptions
from course_lib.grading.reports.similar_command import _tokens, find_similar, similar_table
from course_lib.grading.reports.similarity import (
    FEWEST,
    Pair,
    Similarity,
    find_similar_pairs,
    split_words,
    tokenize_source,
)
from course_lib.grading.reports.similarity_file import SIMILAR_FILE, stored_pairs
from course_lib.grading.submissions.exercise import load_exercise
from tests.grading.notebooks_to_hand_in import RIGHT, ROOT, answered, with_cell

ALTERNATIVES = ROOT / "tests" / "checks" / "alternatives"
SHORT = "def causal_mask(size):\n    return torch.ones(1, 1, size, size, dtype=torch.bool).tril()\n"


def functions(*lessons):
    """Independent code: the source of the correct alternatives of these lessons."""
    found = []
    for lesson in lessons:
        source = Path(ALTERNATIVES / f"{lesson}.py").read_text(encoding="utf-8")
        found += [
            ast.get_source_segment(source, node)
            for node in ast.parse(source).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        ]
    return found


class Renamed(ast.NodeTransformer):
    """Other names for a function's arguments and variables."""

    def visit_arg(self, node):
        return ast.arg(f"my_{node.arg}")

    def visit_Name(self, node):
        return ast.Name(node.id if node.id in ("torch", "F", "math") else f"my_{node.id}")


def disguised(source):
    """The same code with other names, comments and layout."""
    return "# all my own work\n" + ast.unparse(Renamed().visit(ast.parse(source)))


@pytest.fixture(scope="module")
def independent():
    """What 20 people wrote: each the same short answer, and three longer ones of their own."""
    source = random.Random(0)
    longer = [
        each
        for each in functions("masks", "blocks", "batching", "training", "two_sentences")
        if len(each) > 150
    ]
    source.shuffle(longer)
    return {
        f"s{n}": {"short": SHORT, "a": longer[2 * n], "b": longer[2 * n + 1]} for n in range(20)
    }


def compare(written, released=()):
    tokens = {
        student: {cell: tokenize_source(source) for cell, source in cells.items()}
        for student, cells in written.items()
    }
    return find_similar_pairs(tokens, [tokenize_source(source) for source in released])


def names(found):
    return {frozenset((pair.first, pair.second)) for pair in found.pairs}


def test_the_same_right_answer_to_a_short_task_is_no_surprise(independent):
    assert compare({student: {"short": SHORT} for student in independent}).pairs == ()


def test_copies_stand_out_whatever_their_names_layout_and_order(independent):
    copied = {cell: disguised(source) for cell, source in independent["s3"].items()}
    turned = dict(reversed(independent["s5"].items()))
    found = compare({**independent, "copy": copied, "turned": turned})
    assert names(found) >= {frozenset(("s3", "copy")), frozenset(("s5", "turned"))}
    first, second, *others = found.pairs
    assert {first.first, first.second, second.first, second.second} == {
        "s3",
        "copy",
        "s5",
        "turned",
    }
    assert all(pair.share < second.share / 1.3 for pair in others)
    assert set(first.where) <= {"a", "b"}
    assert found.usual < second.share / 2


def test_what_was_released_counts_for_nobody(independent):
    given = functions("decoding")[0]
    two = {student: {**independent[student], "given": given} for student in ("s0", "s1")}
    assert frozenset(two) in names(
        compare(
            {s: {"given": given} for s in two}
            | {s: cells for s, cells in independent.items() if s not in two}
        )
    )
    assert compare(independent | two, [given]).pairs == compare(independent).pairs


def test_a_class_in_which_most_have_copied_does_not_look_like_an_honest_one(independent):
    groups = {f"{s}{n}": cells for s, cells in list(independent.items())[:6] for n in range(3)}
    found = compare(groups)
    assert len(found.pairs) == 6 * 3  # three pairs in each group of three
    assert found.usual == pytest.approx(1.0)


def test_in_a_small_class_no_pair_is_listed(independent):
    few = {f"s{n}": independent["s0"] for n in range(FEWEST - 1)}
    assert compare(few).pairs == ()
    assert compare({}).usual == 0.0


def test_names_of_ones_own_comments_and_strings_do_not_count():
    one = tokenize_source('def f(a):\n    """Doc."""\n    return torch.ones(a, x="1")  # why\n')
    other = tokenize_source("def g(b):\n    return torch.ones(b, y='two')\n")
    assert one == other
    assert tokenize_source("torch.tril(x)", frozenset({"torch"})) == [
        "torch",
        ".",
        "tril",
        "(",
        "name",
        ")",
    ]
    assert tokenize_source("len(x)")[0] == "len"


def test_any_text_has_tokens():
    for text in ("", "def f(:", "\x00\x01'''", "(" * 5000, "é = 'ü", "%%html\n<b>"):
        assert isinstance(tokenize_source(text), list)
    assert split_words("Padding, padding: 2 rows.") == ["padding", "padding", "2", "rows"]


@pytest.mark.parametrize("line", [" ", "    ", "x = 1" + " " * 50, ""])
def test_space_at_the_ends_of_lines_holds_nobody_up(line):
    start = time.process_time()
    tokens = tokenize_source("y = 2\n" + f"{line}\n" * 25_000 + "z = 3")
    assert time.process_time() - start < 3.0  # and not 12
    assert tokens[:3] == ["name", "=", "2"]


def test_characters_that_nobody_sees_do_not_split_words():
    text = "".join(f"{each}\u200b\u00ad" for each in "Pads are keys.")
    assert split_words("\u2060" * 60_000 + text) == ["pads", "are", "keys"]


def test_a_long_cell_hides_no_other_and_is_named(tmp_path, notebook):
    long = "\n".join(f"x_{number} = {number}" for number in range(20_000))
    handed_in = with_cell(answered(notebook, RIGHT), long, after="title")
    for name in ("long", "short"):
        (tmp_path / "incoming" / name).mkdir(parents=True)
        text = json.dumps(handed_in if name == "long" else answered(notebook, RIGHT))
        (tmp_path / "incoming" / name / "masks.ipynb").write_text(text)
    made = {}
    exercises = ROOT / "exercises"
    options = SimilarOptions(
        incoming=tmp_path / "incoming", assignment="06_masks", results=tmp_path, exercises=exercises
    )
    exercise = load_exercise(exercises, "06_masks")
    for name in ("long", "short"):
        made[name], _ = _tokens(
            read_hand_in(tmp_path / "incoming" / name, exercise).transplant, frozenset()
        )
    assert {cell: made["long"][cell] for cell in made["short"]} == made["short"]
    found, submissions = find_similar(options)
    assert found.cut == ("long",)
    assert "only a part was compared: long\n" in similar_table(found, submissions)


def test_the_command_lists_pairs_and_stores_them_for_the_report(
    tmp_path, notebook, capsys, independent
):
    cells = ["06-padding-mask-answer", "06-causal-mask-answer", "06-masked-softmax-answer"]
    work = dict(list(independent.items())[:12])
    work["=cmd()"] = {cell: disguised(source) for cell, source in work["s3"].items()}
    for student, sources in work.items():
        folder = tmp_path / "incoming" / student
        folder.mkdir(parents=True)
        answers = dict(zip(cells, sources.values(), strict=True))
        (folder / "masks.ipynb").write_text(json.dumps(answered(notebook, answers)))
    (tmp_path / "incoming" / "unreadable").mkdir()
    command = ["similar", str(tmp_path / "incoming"), "--assignment", "06_masks"]
    command += ["--results", str(tmp_path), "--exercises", str(ROOT / "exercises")]
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert "among 13 submissions" in printed
    assert "=cmd() and s3" in printed
    assert "deducts nothing" in printed
    (pair,) = stored_pairs(tmp_path / "06_masks")
    assert (pair["first"], pair["second"]) == ("=cmd()", "s3")
    assert "'=cmd()" in (tmp_path / "06_masks" / SIMILAR_FILE).read_text()
    assert stored_pairs(tmp_path) is None

    (tmp_path / "incoming" / "=cmd()" / "masks.ipynb").unlink()
    assert cli.main(command) == 0
    assert "No pair among 12 submissions stands out" in capsys.readouterr().out
    assert stored_pairs(tmp_path / "06_masks") == []


def test_identical_files_are_named_first_whatever_the_class(tmp_path, notebook, capsys):
    for student, source in [("a", "x = 1"), ("b", "x = 1"), ("c", ""), ("d", ""), ("e", "y = 2")]:
        (tmp_path / "incoming" / student).mkdir(parents=True)
        answers = {"06-padding-mask-answer": source} if source else {}
        text = json.dumps(answered(notebook, answers))
        (tmp_path / "incoming" / student / "masks.ipynb").write_text(text)
    command = ["similar", str(tmp_path / "incoming"), "--assignment", "06_masks"]
    command += ["--results", str(tmp_path), "--exercises", str(ROOT / "exercises")]
    assert cli.main(command) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Identical files: a and b\n\n5 submissions could be read")
    (pair,) = stored_pairs(tmp_path / "06_masks")
    assert (pair["first"], pair["second"], pair["where"]) == ("a", "b", "identical files")


def test_a_class_that_is_too_small_is_told_so_and_a_long_list_is_cut():
    assert "only in a class of 10 or more" in similar_table(Similarity(pairs=(), usual=0.0), 9)
    pairs = tuple(
        Pair(first=f"a{n}", second="\u202eb", share=0.9, surprise=30.0, where=("cell",))
        for n in range(50)
    )
    table = similar_table(Similarity(pairs=pairs, usual=0.2), 60)
    assert "… and 10 more in similar.csv" in table
    assert "\u202e" not in table
