"""``course assign --oral``: a class with all that may be in its folder, and what is written."""

import csv
import json
import shutil

import pytest

from course_lib.cli import main
from course_lib.grading.class_run.regrade_changes import Change, append_changes
from course_lib.grading.oral.oral_command import NO_QUESTION, NOTHING_WRITTEN
from tests.grading.hostile_text import EVERYTHING
from tests.grading.made_results import item_result, submission_result
from tests.grading.notebooks_to_hand_in import RIGHT, ROOT, answered
from tests.grading.synthetic_class import HOSTILE_NAMES

WORDS = {"06-why-not-rows-written": "Pads are keys. So their columns are masked."}


@pytest.fixture
def ask(tmp_path, capsys):
    """Run the command in a folder with ``incoming``: its rows, its page, and what it says."""

    def run(*options, folder="oral"):
        command = ["assign", "--oral", str(tmp_path / "incoming"), "--assignment", "06_masks"]
        command += ["--results", str(tmp_path / "results"), "--output", str(tmp_path / folder)]
        command += ["--exercises", str(ROOT / "exercises")]
        assert main([*command, *options]) == 0
        with (tmp_path / folder / "06_masks.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        page = (tmp_path / folder / "06_masks.html").read_text(encoding="utf-8")
        return rows, page, capsys.readouterr().out

    return run


@pytest.fixture
def hand_in(tmp_path, notebook):
    def write(student, answers, name="masks.ipynb"):
        folder = tmp_path / "incoming" / student
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(answered(notebook, answers)), encoding="utf-8")

    return write


def store(tmp_path, *results):
    folder = tmp_path / "results" / "06_masks"
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        (folder / f"{len(list(folder.iterdir()))}.json").write_text(result.to_json())


def of(rows, student):
    return [row for row in rows if row["student"] == student]


def test_each_student_gets_two_questions_with_lines_and_expected_points(ask, hand_in):
    for student in ("ada", "bo"):
        hand_in(student, RIGHT | WORDS)
    rows, page, printed = ask()
    assert [len(of(rows, student)) for student in ("ada", "bo")] == [2, 2]
    assert all(row["question"] and row["expected"] and row["follow_up"] for row in rows)
    assert "Questions for 2 of 2 students" in printed
    assert "nothing is asked about what failed" in printed
    assert page.count("<section>") == 2 and "Expected" in page


def test_the_same_seed_asks_the_same_and_equal_code_is_asked_about_differently(ask, hand_in):
    students = [f"s{n}" for n in range(12)]
    for student in students:
        hand_in(student, RIGHT | WORDS)
    first, _, _ = ask()
    again, _, _ = ask()
    other, _, _ = ask("--seed", "2027-spring")
    assert first == again and first != other
    assert len({tuple(row["question"] for row in of(first, each)) for each in students}) > 6


def test_the_secret_of_the_class_decides_too_so_that_nobody_draws_at_home(ask, hand_in, tmp_path):
    for n in range(6):
        hand_in(f"s{n}", RIGHT | WORDS)
    first, _, _ = ask()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "secret").write_text("0123456789abcdef")
    assert ask()[0] != first


def test_who_cannot_be_asked_is_listed_with_the_reason(ask, hand_in, tmp_path):
    hand_in("ada", RIGHT)
    hand_in("empty", {})
    hand_in("broken", {"06-causal-mask-answer": "def causal_mask(size)\n    return 5\n"})
    for name, text in (("cut off", '{"cells": ['), ("other", '{"cells": []}')):
        (tmp_path / "incoming" / name).mkdir()
        (tmp_path / "incoming" / name / "masks.ipynb").write_text(text)
    (tmp_path / "incoming" / "nothing").mkdir()
    store(tmp_path, submission_result("gone", item_result("06.causal_mask", 2)))
    rows, page, printed = ask()
    notes = {row["student"]: row["notes"] for row in rows if not row["question"]}
    assert notes.keys() == {"empty", "broken", "cut off", "other", "nothing", "gone"}
    assert (notes["empty"], notes["broken"]) == (NOTHING_WRITTEN, NO_QUESTION)
    assert "was it cut off" in notes["cut off"]
    assert "has a result, and nothing in the folder" in notes["gone"]
    assert "Questions for 1 of 7 students" in printed and "gone: has a result" in printed
    assert page.count("<li>gone: has a result") == 1


def test_the_copy_that_grading_would_take_is_asked_about(ask, hand_in):
    hand_in("ada", {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"]}, "masks_old.ipynb")
    hand_in("ada", {"06-padding-mask-answer": RIGHT["06-padding-mask-answer"]}, "masks_final.ipynb")
    rows, _, _ = ask()
    assert {row["item"] for row in rows} == {"06.padding_mask"}


def test_results_of_an_earlier_answer_are_not_asked_about(ask, hand_in, tmp_path):
    hand_in("ada", {"06-causal-mask-answer": RIGHT["06-causal-mask-answer"]})
    failed = item_result("06.causal_mask", 0.0, misconceptions=("past_hidden",), code="c0")
    store(tmp_path, submission_result("ada", failed))
    rows, _, printed = ask()
    assert "what failed" not in {row["about"] for row in rows}
    assert "ada: not graded yet, or changed since" in printed


@pytest.mark.slow
def test_what_failed_and_what_was_corrected_come_from_the_results(
    ask, hand_in, tmp_path, graded, notebook, one_item
):
    wrong = {"06-padding-mask-answer": RIGHT["06-padding-mask-answer"].replace("!=", "==")}
    right = {"06-padding-mask-answer": RIGHT["06-padding-mask-answer"]}
    for name, answers in (("wrong", wrong), ("right", right)):
        hand_in(name, answers)
        store(tmp_path, graded(answered(notebook, answers), one_item, student=name))
    change = Change(
        student="right",
        item="06.padding_mask",
        before="not yet",
        before_points=0.0,
        after="passed",
        after_points=2.0,
    )
    append_changes(tmp_path / "results" / "06_masks", [change])
    seen = {"wrong": set(), "right": set()}
    for seed in range(12):
        for row in ask("--seed", str(seed))[0]:
            seen[row["student"]].add(row["about"])
    assert "what failed" in seen["wrong"] and "what was corrected" not in seen["wrong"]
    assert "what was corrected" in seen["right"] and "what failed" not in seen["right"]


def test_hostile_names_code_and_words_stay_text(ask, hand_in):
    code = (
        "def padding_mask(tokens, pad_id):\n"
        "    x = '</pre><script>alert(1)</script>'  \t+ '\u202ebidi \x1b[31m' "
        + "# "
        + "a" * 3_000
        + "\n    return ((tokens != pad_id) if '</code><img src=x onerror=alert(1)>' else 0)\n"
    )
    answers = {"06-padding-mask-answer": code, "06-why-not-rows-written": f"={EVERYTHING}"}
    names = [name for name in HOSTILE_NAMES if "/" not in name and len(name) < 100]
    for name in names:
        hand_in(name, answers)
    rows, page, _ = ask()
    assert len(rows) == 2 * len(names)
    for markup in ("<script", "<img", "<iframe", "<svg", "<a ", "\u202e", "\x1b"):
        assert markup not in page
    assert "&lt;/code&gt;&lt;img" in page
    assert "default-src 'none'" in page
    for row in rows:
        assert max(map(len, row["lines"].split("\n"))) < 200
        assert row["lines"].replace("\n", "").isprintable() and row["question"].isprintable()


def test_no_cell_of_the_table_is_a_formula(ask, hand_in, tmp_path):
    hand_in("=cmd()", {"06-why-not-rows-written": "=HYPERLINK(1)"})
    ask()
    text = (tmp_path / "oral" / "06_masks.csv").read_text(encoding="utf-8-sig")
    assert '"\'=cmd()"' in text and '"=' not in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--oral", "incoming"], "--oral is about one assignment, and 0 were named"),
        (
            ["--oral", "x", "--assignment", "06_masks", "--assignment", "07_blocks"],
            "and 2 were named",
        ),
        (["--oral", "no/such", "--assignment", "06_masks"], "expected a folder with the students'"),
        (["--assignment", "06_masks"], "expected --seed TERM for variants, --oral INCOMING"),
        (["--list", "--seed", "x"], "--list draws nothing"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, says, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["assign", *options]) == 1
    assert says in capsys.readouterr().err


def test_the_run_that_was_handed_in_is_asked_about_with_the_numbers_of_its_log(tmp_path, capsys):
    solution = ROOT / "solutions" / "11_training"
    for n in range(8):
        folder = tmp_path / "incoming" / f"s{n}"
        shutil.copytree(solution / "own_run", folder / "own_run")
        shutil.copy(solution / "training.ipynb", folder)
    (tmp_path / "incoming" / "s7" / "own_run" / "metrics.jsonl").write_text('{"step": 1}\n')
    command = ["assign", "--oral", str(tmp_path / "incoming"), "--assignment", "11_training"]
    command += ["--exercises", str(ROOT / "exercises"), "--output", str(tmp_path)]
    asked = set()
    for seed in ("a", "b", "c"):
        assert main([*command, "--seed", seed]) == 0
        with (tmp_path / "11_training.csv").open(encoding="utf-8-sig", newline="") as file:
            asked |= {(row["student"], row["question"]) for row in csv.DictReader(file)}
    run = {student for student, question in asked if "weights of step 2,298" in question}
    assert run and "s7" not in run
    assert {student for student, _ in asked} == {f"s{n}" for n in range(8)}
