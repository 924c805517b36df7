"""`check` as a learner sees it: its report, its errors, and the progress file."""

import copy
import json
import os
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade

from course_lib import cli
from course_lib.checks import TABLE, NotPassed, Progress, check, load_item, load_items
from course_lib.checks.diagnosis import trial
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.diagnosis.trial import try_probe
from course_lib.checks.engine import call
from course_lib.checks.progress import (
    FORMER_IDS,
    REMOVED_IDS,
    load_own_marks,
    load_passed,
    load_tried,
    note_checked,
    note_reset,
    progress_file,
)
from course_lib.checks.report.report_html import folded_hints
from course_lib.errors import CourseError
from course_lib.model import AddNorm, padding_mask
from course_lib.viz.drawings.colours import COLOURS, forced_variables, variables
from tests.checks.alternatives.training import loss_from_the_masked_loss
from tests.item_points import checked_items, checked_points, points_of


@pytest.fixture(autouse=True)
def progress(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path


def right(tokens, pad_id):
    return (tokens != pad_id)[:, None, None, :]


def inverted(tokens, pad_id):
    return (tokens == pad_id)[:, None, None, :]


def no_shape(tokens, pad_id):
    return (tokens == pad_id).any(dim=1)


def nothing(tokens, pad_id):
    right(tokens, pad_id)


def edits(tokens, pad_id):
    tokens[:] = 5
    return right(tokens, pad_id)


def half_written(tokens, pad_id):
    if pad_id == 3:
        raise NotImplementedError
    return right(tokens, pad_id)


def untouched(tokens, pad_id):
    raise NotImplementedError


def crosses(tokens, pad_id):
    return tokens @ "text"


def test_a_correct_answer_passes_earns_its_points_and_is_remembered():
    report = check("06.padding_mask", right)
    assert report.passed and report.points == TABLE["06.padding_mask"].points
    assert "passed · 4 of 4 tests pass" in str(report)
    assert load_passed() == {"06.padding_mask"}


def test_the_courses_own_code_is_right_but_earns_nothing():
    for borrowed in (padding_mask, lambda tokens, pad_id: padding_mask(tokens, pad_id)):
        report = check("06.padding_mask", borrowed)
        assert (report.passed, report.points) == (False, 0)
        assert "it calls the course's own code" in str(report)
    assert check("03.add_norm", AddNorm).points == 0
    assert load_passed() == set()


def test_what_the_exercise_imports_may_help():
    assert check("11.label_smoothed_loss", loss_from_the_masked_loss).passed


def test_the_page_says_how_far_one_is_and_what_comes_next(monkeypatch):
    page = check("01.sinusoidal_positions", nothing)._repr_html_()
    checked = sum(entry.kind != "written" for entry in TABLE.values())
    assert f"0 of {checked} items passed. Next: 01.sinusoidal_positions" in page
    monkeypatch.setenv("COURSE_QUIET", "1")
    assert "items passed" not in check("01.sinusoidal_positions", nothing)._repr_html_()


def test_a_misconception_is_explained_in_words():
    report = check("06.padding_mask", inverted)
    assert not report.passed and report.points == 0
    assert report.misconception == "polarity_turned_round"
    told, call = str(report).split("Try it")
    assert "True at the padding" in told and "expected" not in told and "# expected" in call
    assert load_passed() == set()


def test_a_name_says_what_it_rests_on():
    report = str(check("06.padding_mask", inverted))
    inputs = sum(len(trial.calls) for trial in check("06.padding_mask", inverted).diagnosis.trials)
    known = f"On all {inputs} test inputs your code does what code with this error does."
    assert f"\n  How I know: {known}\n" in report
    assert "How I know" not in str(check("06.padding_mask", crosses))


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject, name, words",
    [
        (no_shape, None, "The shape is wrong: expected shape (3, 1, 1, 5), got shape (3,)."),
        (nothing, "nothing_returned", "returned None. Is a `return` missing?"),
        (edits, "input_modified", "Your code modifies its input in place."),
        (crosses, "operator_does_not_fit", "Your code raised TypeError"),
        (half_written, None, "Part of `half_written` isn't written yet."),
        (
            lambda tokens, pad_id: right(tokens, pad_id).long() * 2,
            "another_dtype",
            "The dtype is wrong",
        ),
    ],
)
def test_an_unknown_error_is_described(subject, name, words):
    report = check("06.padding_mask", subject)
    assert report.misconception == name
    assert words in str(report)


def test_a_failure_is_reported_with_the_learners_line():
    assert 'return tokens @ "text"' in str(check("06.padding_mask", crosses))


@pytest.mark.slow
def test_the_html_draws_shapes_folds_hints_and_escapes_the_learners_text():
    page = check("06.padding_mask", no_shape)._repr_html_()
    assert "<table>" in page and page.count("<details>") == 3

    def hostile(tokens, pad_id):
        raise ValueError("<script>alert(1)</script>")

    page = check("06.padding_mask", hostile)._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_what_a_report_has_in_backticks_is_code_on_a_page():
    page = check("06.padding_mask", untouched)._repr_html_()
    assert "Replace <code>raise NotImplementedError</code>" in page and "`" not in page
    hints = folded_hints(("Look at `x < 0`.\nThen?", "", ""))
    assert "<p>Look at <code>x &lt; 0</code>.<br>Then?</p>" in hints


def test_the_html_of_a_passed_item_has_no_hints():
    assert "<details>" not in check("06.padding_mask", right)._repr_html_()


def test_untouched_code_is_reported_as_not_started():
    report = check("06.padding_mask", untouched)
    assert str(report).startswith("○ 06.padding_mask") and "not started" in str(report)


@pytest.mark.slow
def test_code_that_pytorch_does_not_implement_is_started_and_its_cause_is_named():
    class FeedForward(torch.nn.Module):
        def __init__(self, d_model, d_ff, dropout=0.0):
            super().__init__()
            self.expand = torch.nn.Linear(d_model, d_ff)
            self.contract = torch.nn.Linear(d_ff, d_model)

        def foward(self, x):
            return self.contract(self.expand(x).relu())

    report = check("06.padding_mask", lambda tokens, pad_id: (tokens != pad_id).softmax(-1))
    assert report.misconception == "type_does_not_fit"
    assert "not implemented for 'Bool'" in str(report) and "Replace" not in str(report)
    report = check("03.feed_forward", FeedForward)
    assert report.misconception == "forward_missing"
    assert "A module is called through its method `forward`" in str(report)


def test_a_stub_without_a_known_source_is_not_started():
    space = {}
    exec("def mask(tokens, pad_id):\n    raise NotImplementedError", space)
    assert check("06.padding_mask", space["mask"]).diagnosis.status == "not started"


@pytest.mark.slow
def test_the_call_to_paste_uses_the_learners_own_name():
    assert "\nedits(tokens, pad_id)\n" in check("06.padding_mask", edits).example.code
    unnamed = check("06.padding_mask", lambda tokens, pad_id: edits(tokens, pad_id))
    assert "\npadding_mask(tokens, pad_id)\n" in unnamed.example.code


def test_a_bug_needs_both_its_line_and_a_fix():
    item = load_item("06.bug")
    assert check("06.bug", item.reference, lambda: item.bug.line).passed
    only_fixed = check("06.bug", item.reference, lambda: 1)
    assert not only_fixed.passed and "The wrong line" in str(only_fixed)
    assert not check("06.bug", item.misconceptions[0].subject, lambda: item.bug.line).passed


@pytest.mark.parametrize(
    "item, words",
    [
        ("06.padding", "item must be one of 06.padding_mask, .*, got '06.padding'"),
        ("padding", "item must be one of 01"),
        ("06.why_not_rows", "a person marks it"),
    ],
)
def test_an_unknown_item_is_refused_with_the_known_ones(item, words):
    with pytest.raises(CourseError, match=words):
        check(item, right)


def test_a_value_instead_of_a_function_is_refused_with_the_right_call():
    with pytest.raises(CourseError, match="without calling it, as in check.*padding_mask"):
        check("06.padding_mask", right(torch.ones(1, 2), 0))


def test_an_unknown_lesson_is_refused():
    with pytest.raises(CourseError, match="lesson must be one of 01.*got '99'"):
        load_items("99")


def test_another_seed_gives_other_inputs():
    item = load_item("06.masked_softmax")
    one, other = (diagnose(item, item.reference, seed=seed) for seed in (1, 2))
    assert not torch.equal(one.trials[0].calls[0].args[0], other.trials[0].calls[0].args[0])


def test_items_that_share_a_probe_keep_their_own_expected_answers():
    post, pre = load_item("07.encoder_block"), load_item("07.pre_norm_encoder_block")
    probe = post.probes[1]
    assert probe in pre.probes
    for item in (post, pre):
        assert try_probe(probe, item, subject=item.reference, draw_seed=7).difference is None


def test_progress_counts_and_says_what_is_next(capsys):
    note_checked("06.padding_mask", passed=True)
    note_checked("06.padding_mask", passed=True)
    assert cli.main(["progress"]) == 0
    shown = capsys.readouterr().out
    assert "■" in shown and "Next: " in shown
    assert f" {points_of('06.padding_mask')} of {checked_points('06')} points" in shown
    everything = Progress(TABLE)
    assert everything.next() == "All checked items are done."


def test_the_progress_of_one_lesson_has_a_line_for_each_of_its_items(capsys):
    note_checked("06.padding_mask", passed=True)
    assert cli.main(["progress", "6"]) == 0
    rows = capsys.readouterr().out.splitlines()[:-2]
    assert [row.split()[1] for row in rows] == [
        entry.id for entry in TABLE.values() if entry.id[:2] == "06" and entry.kind != "written"
    ]
    assert [row[0] for row in rows if "06.padding_mask" in row] == ["■"] and rows[-1][0] == "□"
    assert cli.main(["progress", "99"]) == 1
    assert "01 to 18, got '99': for all of them type `course progress`" in capsys.readouterr().err


def test_what_is_next_stays_in_the_notebook_while_something_is_open_there():
    progress = Progress({"06.padding_mask"})
    assert progress.next("06").startswith("Next: 06.causal_mask")
    assert progress.next("06").endswith("It is in this notebook.")
    assert progress.next().endswith("course lab 01 --exercise")
    of_lesson = {entry.id for entry in TABLE.values() if entry.id.startswith("06")}
    assert Progress(of_lesson).next("06").startswith("Next: 01.")


def test_progress_under_a_former_id_still_counts(progress, monkeypatch):
    monkeypatch.setitem(FORMER_IDS, "06.pad_mask", "06.padding_mask")
    progress.parent.mkdir()
    progress.write_text('{"version": 1, "passed": ["06.pad_mask"]}')
    assert load_passed() == {"06.padding_mask"}
    note_checked("06.causal_mask", passed=True)
    assert load_passed() == {"06.padding_mask", "06.causal_mask"}


def test_a_former_id_is_refused_with_the_present_one(monkeypatch):
    monkeypatch.setitem(FORMER_IDS, "06.pad_mask", "06.padding_mask")
    with pytest.raises(CourseError, match="06.pad_mask is now called 06.padding_mask"):
        check("06.pad_mask", right)


@pytest.mark.parametrize("conventions", [(), ("heads_last",)])
def test_a_check_of_a_removed_item_says_that_it_is_gone_and_what_to_do(conventions):
    sentence = (
        "14.heads_for_figure is no longer an item of this course: your notebook is of an earlier "
        "version, and `course update` brings the newer exercise"
    )
    with pytest.raises(CourseError, match=re.escape(sentence)):
        check("14.heads_for_figure", right, conventions=conventions)


def test_a_removed_item_that_was_passed_tried_or_marked_counts_for_nothing(progress, capsys):
    gone, tried = sorted(REMOVED_IDS)
    progress.parent.mkdir()
    stored = {"version": 1, "passed": [gone, "06.padding_mask"], "tried": [tried]}
    progress.write_text(json.dumps(stored | {"own_marks": {tried: 1}}))
    assert (load_passed(), load_tried(), load_own_marks()) == ({"06.padding_mask"}, set(), {})
    assert cli.main(["progress"]) == 0 and cli.main(["progress", tried]) == 0
    shown = capsys.readouterr().out + Progress().to_html()
    assert not any(item in shown for item in REMOVED_IDS)
    note_checked("06.causal_mask", passed=True)
    assert load_passed() == {"06.padding_mask", "06.causal_mask"}


def test_a_former_or_removed_id_is_no_other_items_today():
    assert not (FORMER_IDS.keys() | REMOVED_IDS) & TABLE.keys()
    assert set(FORMER_IDS.values()) <= TABLE.keys()


@pytest.mark.parametrize("content", ["", "{", "3", '["no such item", 3]', '{"passed": 3}'])
def test_an_invalid_progress_file_counts_as_nothing_done(progress, content):
    progress.parent.mkdir()
    progress.write_text(content)
    assert load_passed() == set()


def test_without_a_home_folder_a_check_still_reports(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "~nosuchuser/progress.json")
    report = check("06.padding_mask", right)
    assert report.passed and "items passed" not in report._repr_html_()


def test_an_unwritable_progress_file_is_no_error(monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", "/proc/nowhere/progress.json")
    assert check("06.padding_mask", right).passed


def test_the_progress_file_is_in_the_users_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_PROGRESS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert progress_file() == tmp_path / "transformer-course" / "progress.json"


def test_the_progress_stored_in_a_notebook_is_the_same_for_everyone(progress):
    before = Progress()._repr_mimebundle_()
    note_checked("06.padding_mask", passed=True)
    after = Progress()._repr_mimebundle_()
    assert before["text/html"] == after["text/html"] and before["text/plain"] == after["text/plain"]
    done = f" {points_of('06.padding_mask')} of {checked_points('06')} points"
    assert done in Progress().to_html() and json.loads(progress.read_text())


def test_a_wrong_answer_is_tried_until_it_is_right_and_an_empty_one_is_not(progress):
    check("06.padding_mask", untouched)
    assert load_tried() == set() and not progress.exists()
    check("06.padding_mask", inverted)
    assert load_tried() == {"06.padding_mask"} and load_passed() == set()
    check("06.padding_mask", right)
    check("06.padding_mask", inverted)  # an experiment after it takes nothing away
    assert load_tried() == set() and load_passed() == {"06.padding_mask"}
    assert json.loads(progress.read_text())["tried"] == []


def test_a_progress_file_of_an_earlier_version_without_what_was_tried_still_counts(progress):
    progress.parent.mkdir()
    progress.write_text('{"version": 1, "passed": ["06.causal_mask"], "tried": 3}')
    note_checked("06.padding_mask", passed=False)
    assert (load_passed(), load_tried()) == ({"06.causal_mask"}, {"06.padding_mask"})


def test_a_reset_forgets_what_was_passed_and_what_was_tried():
    note_checked("06.causal_mask", passed=True)
    note_checked("06.padding_mask", passed=False)
    note_checked("06.decoder_mask", passed=False)
    note_reset({"06.causal_mask", "06.padding_mask"})
    assert (load_passed(), load_tried()) == (set(), {"06.decoder_mask"})


def test_the_card_names_the_next_step_first_and_each_item_with_its_state():
    text = Progress({"01.sinusoidal_positions"}, {"01.shift_matrix"}).to_html()
    words = re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.DOTALL)
    words = " ".join(words.split())
    assert words.startswith("Next: Add the encoding to a batch 01.positional_encoding, about 15")
    first, second = checked_items("01"), checked_items("02")
    boxes = " ".join(["✓", "2", "…", *map(str, range(4, len(first) + 1))])
    points = f"{points_of(first[0].id)} of {checked_points('01')} points"
    count = f"1 of {len(first)} items, 1 tried · {points}"
    assert f"01 positional encoding {boxes} {count}" in words
    assert f"1 of {Progress(()).size} items, 1 tried" in words
    boxes = " ".join(map(str, range(1, len(second) + 1)))
    assert f"02 embeddings {boxes} {len(second)} items · {checked_points('02')} points" in words
    states = ["passed", "to do", "tried", *["to do"] * (len(first) - 3)]
    label = "; ".join(f"{item.title}: {each}" for item, each in zip(first, states, strict=True))
    assert f'aria-label="{label}"' in text
    assert text.count("next-item") == 2  # a box, and its style
    assert "All checked items are done." in Progress(TABLE).to_html()


def test_the_card_has_no_colour_of_its_own():
    style = re.search(r"<style>(.*?)</style>", Progress(()).to_html(), re.DOTALL)[1]
    own = style.removeprefix(variables() + forced_variables())
    assert own != style and not re.search(r"#[0-9a-f]{3,8}\b|rgb|hsl", own)
    assert set(re.findall(r"var\(--([a-z-]+)\)", own)) <= COLOURS.keys()


@pytest.mark.parametrize("subject", [inverted, half_written], ids=["wrong", "partly written"])
def test_under_nbgrader_a_check_that_is_not_passed_raises(subject, monkeypatch):
    assert not check("06.padding_mask", subject).passed  # and for learners it never does
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(NotPassed, match=r"06\.padding_mask · Mask the padding: not"):
        check("06.padding_mask", subject)


def test_under_nbgrader_a_passed_check_earns_all_points_and_leaves_no_trace(
    monkeypatch, progress, capsys
):
    note_checked("06.causal_mask", passed=True)
    before = progress.read_text()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    report = check("06.padding_mask", right)
    cell = new_code_cell(outputs=[new_output("execute_result", {"text/plain": repr(report)})])
    cell.metadata["nbgrader"] = {"grade": True, "solution": False, "points": 2}
    assert determine_grade(cell) == (2, 2)
    assert progress.read_text() == before and capsys.readouterr().err == ""
    assert "items passed" not in report._repr_html_()  # whose progress would that be?


@pytest.mark.parametrize("damaged", ["", '{"passed": ["06.pad', '{"passed": 3}', "[" * 100_000])
def test_a_damaged_progress_file_is_kept_beside_the_new_one(progress, damaged):
    progress.parent.mkdir()
    progress.write_text(damaged)
    note_checked("06.padding_mask", passed=True)
    assert load_passed() == {"06.padding_mask"}
    assert progress.with_name("progress.json.damaged").read_text() == damaged


def test_items_of_a_newer_version_stay_in_the_progress_file(progress):
    progress.parent.mkdir()
    progress.write_text('{"version": 1, "passed": ["99.item_of_tomorrow"]}')
    note_checked("06.padding_mask", passed=True)
    assert load_passed() == {"06.padding_mask"}
    assert json.loads(progress.read_text())["passed"] == ["06.padding_mask", "99.item_of_tomorrow"]


def item_whose_reference_first(does):
    """The padding mask, but its reference first does something else, once."""
    item = copy.copy(load_item("06.padding_mask"))
    item.id, pending = does.__name__, [does]

    def reference(tokens, pad_id):
        if pending:
            pending.pop()()
        return right(tokens, pad_id)

    item.reference = reference
    return item


def test_a_stop_while_the_course_s_own_answer_is_computed_is_not_remembered():
    def stopped_by_the_learner():
        raise KeyboardInterrupt

    item = item_whose_reference_first(stopped_by_the_learner)
    with pytest.raises(KeyboardInterrupt):
        diagnose(item, right)
    assert diagnose(item, right).status == "passed"


def test_an_own_answer_that_takes_too_long_is_told_and_not_remembered(monkeypatch):
    def on_a_busy_machine():
        time.sleep(5)

    monkeypatch.setattr(trial, "REFERENCE_SECONDS", 0.1)
    item = item_whose_reference_first(on_a_busy_machine)
    with pytest.raises(CourseError, match="very busy"):
        diagnose(item, right)
    monkeypatch.undo()
    assert diagnose(item, right).status == "passed"


def test_an_own_answer_that_is_an_error_is_told_and_not_remembered():
    def on_a_patched_pytorch():
        raise RuntimeError("mat1 and mat2 must have the same dtype")

    def fails_alike(tokens, pad_id):
        on_a_patched_pytorch()

    item = item_whose_reference_first(on_a_patched_pytorch)
    with pytest.raises(CourseError, match=r"raised RuntimeError: mat1 .* restart the kernel"):
        diagnose(item, fails_alike)
    assert diagnose(item, right).status == "passed"


def item_whose_misconception_first(does):
    """The padding mask with one misconception, which first does something else, once."""
    item = copy.copy(load_item("06.padding_mask"))
    pending = [does]

    def turned_round(tokens, pad_id):
        if pending:
            pending.pop()()
        return inverted(tokens, pad_id)

    item.misconceptions = [replace(item.misconceptions[0], subject=turned_round, spellings=[])]
    return item


def test_a_stop_while_a_misconception_is_tried_ends_the_check_and_is_not_remembered():
    def stopped_by_the_learner():
        raise KeyboardInterrupt

    item = item_whose_misconception_first(stopped_by_the_learner)
    with pytest.raises(KeyboardInterrupt):
        diagnose(item, inverted)
    assert diagnose(item, inverted).misconceptions


def test_a_misconception_that_takes_too_long_once_is_named_the_next_time(monkeypatch):
    def on_a_busy_machine():
        time.sleep(5)

    monkeypatch.setattr(call, "SECONDS", 0.1)
    item = item_whose_misconception_first(on_a_busy_machine)
    diagnose(item, inverted)
    monkeypatch.undo()
    assert diagnose(item, inverted).misconceptions


@pytest.mark.slow
def test_the_courses_own_answers_take_no_time_from_the_learners(monkeypatch):
    monkeypatch.setattr(sys.modules["course_lib.checks.diagnosis.diagnose"], "SECONDS_IN_ALL", 1.0)

    def takes_its_time():
        time.sleep(1.1)

    def slow_once(tokens, pad_id):
        if not asked_before:
            asked_before.append(1)
            time.sleep(0.2)
        return right(tokens, pad_id)

    asked_before = []
    assert diagnose(item_whose_reference_first(takes_its_time), slow_once).status == "passed"


def test_answers_that_are_slow_together_are_told_so(monkeypatch):
    monkeypatch.setattr(sys.modules["course_lib.checks.diagnosis.diagnose"], "SECONDS_IN_ALL", 0.5)

    def slow(tokens, pad_id):
        time.sleep(0.2)
        return right(tokens, pad_id)

    report = str(check("06.padding_mask", slow))
    assert "stopped: all tests together took more than 0.5 seconds. Line" in report
    assert "Does every loop" not in report and "number by number" in report


def test_a_device_instead_of_a_progress_file_is_not_moved(progress, monkeypatch):
    moved = []
    monkeypatch.setattr(Path, "replace", lambda self, target: moved.append(self))
    progress.parent.mkdir(parents=True)
    progress.symlink_to(os.devnull)
    note_checked("06.padding_mask", passed=True)
    assert load_passed() == set() and moved == [] and progress.is_symlink()
