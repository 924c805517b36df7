"""Runs of lessons 06 to 08: whoever reads the numbers carefully finds the right answer."""

import itertools
import re

import pytest
import torch

from course_lib.checks import _module, check, make_run
from course_lib.checks.items.full_model.connections import CHANGES
from course_lib.model import decoder_mask, parameter_parts

NUMBERS = range(500, 520)


@pytest.fixture(autouse=True)
def _progress_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


def table_of(shown, letter):
    """What is changed, and how many outputs move, in each line of a block's table."""
    table = shown.text.split(f"{letter}: ")[1].split("\n\n")[0]
    outputs = int(table.split()[0])
    rows = re.findall(r"^\d +(\S.*?) {2,}(\d+)$", table, re.MULTILINE)
    return outputs, [(what, int(moved)) for what, moved in rows]


def wrong_with(outputs, tests):
    """The first line of a block's table that a right block can't have, and the error."""
    first, error = 0, ""
    for line, (what, moved) in enumerate(tests, 1):
        position = int((re.findall(r"\d+", what) or [0])[0])
        if what == "nothing" and moved:
            return next(n for n, (w, m) in enumerate(tests, 1) if m != right_count(w, outputs)), "f"
        if moved != right_count(what, outputs):
            first = first or line
            if what.startswith("target"):
                error = "a" if moved == outputs else "e"
            elif what.startswith("source"):
                error = "c" if moved == outputs - position else "b"
            elif what.startswith("the pad"):
                error = "d" if moved == outputs else "c"
    return first, error


def right_count(what, outputs):
    """How many outputs a right block moves."""
    if what.startswith("target"):
        return outputs - int(re.findall(r"\d+", what)[0])
    return outputs if what.startswith("source word") or "training" in what else 0


@pytest.mark.parametrize("number", NUMBERS)
def test_the_tests_of_a_block_tell_its_error(number):
    shown = make_run("07.compare", number=number)
    found = {letter: wrong_with(*table_of(shown, letter)) for letter in "AB"}
    run = _module("07.compare").run
    made = run.run(number)
    assert found[made.honest] == (0, "")
    answer = (made.wrong_lines[0], run.questions["error"].letter(made))
    assert found[made.wrong] == answer


def test_two_blocks_share_no_test_that_could_be_compared():
    for number in NUMBERS:
        shown = make_run("07.compare", number=number)
        kinds = [
            {re.sub(r"\d+", "", what) for what, _ in table_of(shown, each)[1]} for each in "AB"
        ]
        assert kinds[0] & kinds[1] == {"nothing", "nothing, in training mode"}


def arrives(change, config):
    """In which outputs of a right model a change arrives: encoder, decoder blocks, logits."""
    n = config.n_layers
    if change.startswith(("source", "encoder")):
        return [True] * (n + 2)
    if "absent" in change:
        return [False] * (n + 1) + [config.tying == "output"]
    if change == "decoder: all of the last block":
        return [False] * n + [True, True]
    return [False] + [True] * (n + 1)


@pytest.mark.slow
def test_one_line_of_the_wrong_model_and_no_other_is_impossible():
    names = [*CHANGES]
    for number in range(500, 508):
        made = _module("08.compare").run.run(number)
        assert sorted(made.tried["A"] + made.tried["B"]) == [*range(1, 10)]  # none in both
        for letter, moved in made.moved.items():
            assert ((moved < 1e-3) | (moved > 0.1)).all()
            expected = [arrives(names[each - 1], made.config) for each in made.tried[letter]]
            wrong = (moved > 0.1).ne(torch.tensor(expected)).any(-1).nonzero().flatten().tolist()
            assert wrong == ([] if letter == made.right else [made.line - 1])


def test_one_may_count_the_rows_with_ones_own_mask():
    run = _module("06.compare").run
    for number in NUMBERS:
        made, shown = run.run(number), make_run("06.compare", number=number)
        may, real = decoder_mask(shown["ids"], 0)[:, 0], shown["ids"] > 0
        for letter in "AB":
            sums = shown[letter].sum(-1)
            wrong = ((shown[letter] > 0) != may).any(-1) | ((sums - 1).abs() > 0.01) & may.any(-1)
            assert int((wrong & real).sum()) == (0 if letter == made.honest else made.rows)


@pytest.mark.parametrize(
    ("item_id", "told"),
    [
        ("06.predict", r"Under a decoder's mask, the word would move \d+\. You predicted"),
        (
            "07.predict",
            r"a standard deviation of 0\.5 would become [\d.]+ times as long in your blocks\. "
            "You predicted",
        ),
    ],
)
def test_a_prediction_stands_beside_what_it_was_of(item_id, told):
    run = _module(item_id).run
    answers = [
        {"number": number, "predicted": 3}
        | {
            name: question.right(run.run(number))
            if name.startswith(("moved", "ratio"))
            else question.letter(run.run(number))
            for name, question in run.questions.items()
        }
        for number in (1, 2)
    ]
    report = check(item_id, lambda: answers)
    assert report.passed and re.search(told, str(report).replace("\n", " ")), str(report)


def test_what_a_block_adds_tells_pre_norm_from_a_stack_without_norms():
    """Also for long words: "d" is refused with something that is untrue of pre-norm."""
    run = _module("07.predict").run
    seen = set()
    for number in range(112, 177):
        made = run.run(number)
        added = made.lengths.diff()
        assert len(added) == 10
        assert 0.35 < made.stream[0].std() < 0.95
        if made.kind == "pre":
            assert made.ratio > 1.8 and added[-3:].mean() < added[:3].mean()
        if made.kind == "bare":
            assert added[-3:].mean() > 2 * added[:3].mean()
        seen.add(made.kind)
    assert {"pre", "bare"} <= seen
    assert "more than twice as much as the first three" in run.questions["stack"].look["bare"]


def test_the_prediction_of_pre_norm_is_that_of_the_question():
    """Words that start with a standard deviation of 0.5 become about four times as long."""
    run = _module("07.predict").run
    for number in range(500, 520):
        made = run.run(number)
        assert made.pre_norm.shape[0] == 11
        assert made.pre_norm[0].std().item() == pytest.approx(0.5, abs=0.05)
        assert 3 < made.pre_norm_ratio < 5.5


@pytest.mark.parametrize("number", [4, 16, 30])
def test_only_a_weight_of_0_is_an_empty_cell(number):
    shown, made = make_run("06.compare", number=number), _module("06.compare").run.run(number)
    axes = shown.picture().figure.axes
    small = 0
    for ax, (letter, sentence) in zip(axes, itertools.product("AB", range(3)), strict=False):
        weights = made.weights[letter][sentence]
        written = (text for text in ax.texts if text.get_transform() == ax.transData)
        cells = {text.get_position()[::-1]: text.get_text() for text in written}
        for query, key in itertools.product(range(6), range(6)):
            assert ((query, key) in cells) == bool(weights[query, key] > 0), (letter, sentence)
            small += cells.get((query, key)) == "0.00"
    assert small


def test_a_share_leaves_the_norms_out():
    run = _module("08.conclude").run
    for number in range(500, 530):
        config = run.run(number)
        kinds = {kind: sum(each.values()) for kind, each in parameter_parts(config).items()}
        norms = kinds.pop("norm")
        share = 100 * kinds["attention"] / sum(kinds.values())
        assert not run.questions["share"].wrong(config, round(share, 1))
        assert norms < 0.01 * sum(kinds.values())  # as the task says


def test_no_length_is_printed_from_which_the_ratio_could_be_read():
    for number in range(500, 505):
        shown = make_run("07.predict", number=number)
        assert not re.search(r"\d\.\d", shown.text)
        assert torch.isfinite(shown["stream"]).all()
