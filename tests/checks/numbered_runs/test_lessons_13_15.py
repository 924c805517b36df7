"""Runs of lessons 13, 14 and 15: their numbers bear out the answers, computed in another way."""

import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from course_lib.checks import load_item, make_run
from course_lib.checks.items.decoding import compare as search_pair
from course_lib.checks.items.decoding import predict as wider
from course_lib.checks.items.decoding.search_logs import search
from course_lib.checks.items.decoding.table_search import EOS, hypotheses, score
from course_lib.checks.items.decoding.toy_model import ToyModel
from course_lib.checks.items.museum import compare as two_models
from course_lib.checks.items.museum import conclude as trainings
from course_lib.checks.items.reading_attention import compare as two_heads
from course_lib.checks.items.reading_attention import conclude as which_head
from course_lib.model import sinusoidal_positions
from course_lib.viz import describe

NUMBERS = range(30)


def by_the_exercise(table, width, length_penalty):
    """The words and the score that the solution of 13.beam_search finds in a table."""
    words = ["<pad>", "<bos>", EOS, *sorted({w for row in table.values() for w in row} - {EOS})]

    def ids(text):
        return " ".join(str(words.index(word)) for word in text.split())

    by_ids = {ids(p): {ids(word): x for word, x in row.items()} for p, row in table.items()}
    model = ToyModel(torch.zeros(1, len(words)), [], eos_id=2, pad_id=0, max_len=10, table=by_ids)
    found, best = load_item("13.beam_search").reference(
        model, torch.tensor([[4, 5]]), 1, 2, width, 8, length_penalty
    )
    return " ".join(words[each] for each in found), best


@pytest.mark.parametrize("number", NUMBERS)
def test_a_search_of_a_table_finds_what_the_exercise_finds(number):
    run = wider.run.run(number)
    for width in (1, run.width):
        words, best = by_the_exercise(run.table, width, run.length_penalty)
        assert words == str(run.best(width))
        assert best == pytest.approx(run.score(run.best(width)), abs=1e-4)


@pytest.mark.parametrize("number", NUMBERS)
def test_without_a_width_all_sentences_of_a_table_are_found(number):
    run = wider.run.run(number)
    everything = hypotheses(run.table, None)
    assert sum(math.exp(each.log_prob) for each in everything) == pytest.approx(1)
    assert len({str(each) for each in everything}) == len(everything)


@pytest.mark.parametrize("number", NUMBERS)
def test_only_one_sentence_about_a_wider_beam_is_true(number):
    run = wider.run.run(number)
    greedy, wide, best = run.best(1), run.best(run.width), run.best(None)
    gain, better = wide.log_prob - greedy.log_prob, run.score(wide) - run.score(greedy)
    longer = len(wide.words) - len(greedy.words)
    true = {
        "better": gain > 0 and longer >= 0,
        "shorter": gain > 0 and longer < 0,
        "longer": gain < 0 < better and longer > 0,
        "same": wide == greedy == best,
        "missed": wide == greedy and run.score(best) > run.score(greedy),
        "worse": greedy not in hypotheses(run.table, run.width) and better < 0,
    }
    assert [name for name, holds in true.items() if holds] == [run.why]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_right_log_ends_with_what_the_exercise_finds(number):
    run = search_pair.run.run(number)
    words, best = by_the_exercise(run.tables[run.honest], run.width, run.length_penalty)
    ended = [line for step in run.log(run.honest) for line in step if "score" in line]
    top = max(ended, key=lambda line: float(line.split()[-1]))
    assert top.startswith(words + " ")
    assert float(top.split()[-1]) == pytest.approx(best, abs=0.006)


@pytest.mark.parametrize("error", search_pair.ERRORS)
def test_each_error_of_a_search_can_be_seen_in_a_log(error):
    runs = map(search_pair.run.run, range(40))
    seen = [run for run in runs if run.error == error]
    assert seen
    for run in seen:
        table, logged = run.tables[run.wrong], run.log(run.wrong)
        right = search(table, run.width, run.length_penalty)
        assert logged[: run.step - 1] == right[: run.step - 1]
        assert logged[run.step - 1 : run.step] != right[run.step - 1 : run.step]


def test_no_step_of_a_search_tells_the_error():
    errors = {}
    for number in range(200):
        run = search_pair.run.run(number)
        errors.setdefault(run.step, set()).add(run.error)
    assert set(errors) == {2, 3, 4, 5}
    assert min(map(len, errors.values())) > 1
    assert sum("stops" in each for each in errors.values()) == 3


@pytest.mark.parametrize("number", range(100))
def test_greedy_decoding_of_a_table_writes_a_word_at_least(number):
    shown = make_run("13.predict", number=number)
    first = shown["table"][""]
    assert max(first, key=first.get) != EOS
    assert len(shown["found"][1][0][0].split()) > 1


def test_the_score_of_a_hypothesis_counts_its_end():
    table = {"": {"a": 0.5, EOS: 0.5}}
    short, long = hypotheses(table, 2)
    assert score(short, 1.0) == pytest.approx(math.log(0.5))
    assert score(long, 1.0) == pytest.approx(math.log(0.5) * 6 / 7)


@pytest.mark.parametrize("number", range(60))
def test_the_first_wrong_step_differs_by_more_than_rounding(number):
    run = search_pair.run.run(number)
    logged, right = run.log(run.wrong), run.log_of(run.wrong, "")
    if run.step > len(logged) or len(logged[run.step - 1]) != len(right[run.step - 1]):
        return
    pairs = zip(*(" ".join(each[run.step - 1]).split() for each in (logged, right)), strict=False)
    differ = [(a, b) for a, b in pairs if a != b]
    assert any(a[:1] != "-" or b[:1] != "-" or abs(float(a) - float(b)) > 0.03 for a, b in differ)


def test_one_continuation_of_each_beam_is_also_one_of_a_single_beam():
    table = {"": {"a": 0.5, EOS: 0.3, "b": 0.2}, "a": {"c": 0.6, "d": 0.4}}
    assert [len(step) for step in search(table, 2, 0.0)] == [2, 2, 2]
    assert [len(step) for step in search(table, 2, 0.0, error="one_each")] == [2, 1, 1]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_right_table_of_error_rates_is_that_of_the_exercises(number):
    run = two_heads.run.run(number)
    align = load_item("14.align").reference
    rate = load_item("14.alignment_error_rate").reference
    shown = make_run("14.compare", number=number)
    for letter in "AB":
        rows = zip(*(shown[each][letter] for each in ("weights", "sure", "possible")), strict=True)
        right = [rate(align(weights), sure, possible) for weights, sure, possible in rows]
        differ = [abs(a - b) > 1e-6 for a, b in zip(right, shown["rates"][letter], strict=True)]
        assert any(differ) == (letter == run.wrong)
        if any(differ):
            assert differ.index(True) + 1 == run.sentence


def test_a_high_error_rate_is_no_sign_of_an_error():
    high = {each: [0, 0] for each in two_heads.ERRORS}
    for number in range(120):
        run = two_heads.run.run(number)
        for n, letter in enumerate((run.honest, run.wrong)):
            high[run.error][n] += sum(run.rates(letter)) / two_heads.SENTENCES > 0.5
    assert all(right and wrong for right, wrong in high.values()), high


@pytest.mark.parametrize("number", NUMBERS)
def test_rows_one_further_down_give_the_table_only_with_that_error(number):
    run = two_heads.run.run(number)
    shifted = run.rates(run.wrong, "one_row_down")
    assert (shifted == run.rates(run.wrong)) == (run.error == "one_row_down")


def test_the_picture_of_two_heads_has_a_frame_for_each_gold_link_and_no_rate():
    for number in (7, 8):
        run = two_heads.run.run(number)
        figure = make_run("14.compare", number=number).picture().figure
        for letter, ax in zip("AB", figure.axes, strict=True):
            sentence = run.heads[letter][two_heads.SHOWN]
            frames = {
                (round(frame.get_x() + 0.45), round(frame.get_y() + 0.45)): frame.get_linestyle()
                for frame in ax.patches
            }
            assert set(frames) == sentence.possible
            assert {link for link, style in frames.items() if style == "-"} == sentence.sure
            rows = [label.get_text() for label in ax.get_yticklabels()]
            assert rows == [*map(str, range(len(sentence.weights) - 1)), "<eos>"]
        assert "error rate" not in describe(figure)


def test_a_picture_shows_the_same_whichever_error_the_table_has():
    run = two_heads.run.run(7)
    pages = {
        two_heads._show(replace(run, wrong=wrong, error=error))._repr_html_().partition("<img")[2]
        for wrong, error in (("A", "columns"), ("B", "end_linked"))
    }
    assert len(pages) == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_the_conclusion_about_the_heads_is_true(number):
    run = which_head.run.run(number)
    alone, extra = run.alone, run.extra[run.pair].item()
    first, second = alone.topk(2).values.tolist()
    stands_out = first > 2 and second < 0.1
    assert {
        "sharpest": stands_out and int(alone.argmax()) == run.sharpest,
        "another": stands_out and int(alone.argmax()) != run.sharpest,
        "redundant": first < 0.3 and extra > 2,
        "series": second > 2 and extra < -1.5,
        "apart": second > 1 and 0.2 < extra < 1,
        "none": run.losses.max() - run.whole < 0.2,
    }[run.why]
    # As the task says it: what is needed costs more than half a nat.
    needed = int((alone > 0.5).sum())
    expected = {"sharpest": 1, "another": 1, "series": 2, "apart": 2}.get(run.why, 0)
    assert needed == expected
    assert (run.losses.max() - run.whole > 0.5) == (run.why != "none")
    entropies = run.entropies.sort().values
    assert entropies[1] - entropies[0] > 0.1  # one sees which maps are the sharpest


@pytest.mark.parametrize("number", NUMBERS)
def test_the_printed_table_is_as_precise_as_the_answer_must_be(number):
    run = which_head.run.run(number)
    whole, losses = round(run.whole, 3), run.losses.round(decimals=3)
    alone = losses.diagonal() - whole
    extra = (losses - whole - alone[:, None] - alone[None, :]).triu(1).flatten()
    answer = round(extra[extra.abs().argmax()].item(), 2)
    question = which_head.run.questions["extra"]
    assert not question.wrong(run, answer)
    assert question.wrong(run, 0.0) and question.wrong(run, -answer)


@pytest.mark.parametrize("number", NUMBERS)
def test_whoever_forgets_the_loss_of_the_whole_model_is_refused(number):
    run = which_head.run.run(number)
    assert run.whole >= 0.03
    alone = run.losses.diagonal()
    pairs = torch.ones(6, 6).triu(1).bool()
    forgotten = (run.losses - alone[:, None] - alone[None, :])[pairs]
    answer = round(forgotten[forgotten.abs().argmax()].item(), 2)
    assert which_head.run.questions["extra"].wrong(run, answer)


def test_the_caption_of_the_maps_names_no_head():
    page = make_run("14.conclude", number=5)._repr_html_()
    assert "six heads, one sentence" in page and "entropy" not in page


@pytest.mark.parametrize("number", NUMBERS)
def test_only_one_number_of_a_model_cannot_belong_to_its_size(number):
    run = two_models.run.run(number)
    for letter, config in run.configs.items():
        table = sinusoidal_positions(64, config.d_model)
        right = {
            "embeddings_from_normal": lambda x, c=config: abs(x - math.log(c.target_vocab)) < 0.5,
            "scores_by_width": lambda x, c=config: abs(x - (c.d_model / c.n_heads) ** 0.5) < 1e-3,
            "positions_without_width": lambda x, t=table: (
                abs(x - F.cosine_similarity(t[10], t[30], dim=0)) < 1e-4
            ),
            "dropout_after_norm": lambda x: x == 0,
            "encoder_without_dropout": lambda x, p=config.residual_dropout: abs(x - p) < 0.03,
            "pads_as_rows": lambda x: x < 1e-4,
        }
        for bug, fits in right.items():
            value = run.measured[letter][run.rows.index(two_models.ROW_OF[bug])]
            assert fits(value) == ((letter, bug) != (run.wrong, run.bug)), (letter, bug, value)
        if letter == run.wrong:
            assert right[run.bug](run.expected)


@pytest.mark.parametrize("number", NUMBERS)
def test_only_one_way_gives_the_reported_number(number):
    run = trainings.run.run(number)
    ways = [way for way, x in run.candidates.items() if round(x, 1) == run.reported]
    assert ways == [run.why]
    for shown, digits in ((run.train, 2), (run.valid, 1), (run.test, 1)):
        assert torch.equal(shown, shown.round(decimals=digits))  # the print-out hides nothing
    chosen = [int(row.argmax()) for row in run.valid]
    honest = sum(float(row[n]) for row, n in zip(run.test, chosen, strict=True)) / len(chosen)
    assert run.candidates["honest"] == pytest.approx(honest)
