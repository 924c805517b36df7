"""Every item under its conventions: its own solution passes, the public one does not."""

import itertools

import pytest

from course_lib.checks import TABLE, check, load_item
from course_lib.checks.conventions import CONVENTIONS, WITHOUT, conventions_of
from course_lib.checks.conventions.variant_item import translated, under
from course_lib.checks.diagnosis.arguments import describe_arguments
from course_lib.checks.diagnosis.diagnose import SEED, diagnose
from course_lib.checks.diagnosis.trial import expected_answers
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.draw import Draw
from course_lib.checks.report.feedback import Report
from course_lib.errors import CourseError
from course_lib.grading.variants.variant_draw import draw_variants, of_items
from tests.checks.first_failure import first_failure

TAKEN = [(item, each.name) for item in TABLE for each in conventions_of(item)]
DRAWN = sorted(
    {
        (item, names)
        for lesson, seed in itertools.product(CONVENTIONS, ("2026-autumn", "2027-spring", "x"))
        for choice in draw_variants(lesson, 6, seed)
        for item, names in of_items(CONVENTIONS[lesson], choice)
    }
)
# Wrong answers whose effect a translation takes away, since it copies what they change in place.
UNSEEN = {("01.positional_encoding", "EditsItsInput")}


def own_solution(item_id, names):
    """The public solution, translated."""
    item = load_item(item_id)
    subject = item.reference
    for each in conventions_of(item_id):
        if each.name in names:
            subject, item = translated(subject, item, each), under(item, each)
    return subject


def errors_of(item):
    """For each call whether the reference raises an error: a translation that fails would fail the
    same way in the own solution."""
    return [
        [answer.failure is not None for answer in expected_answers(probe, item, seed=SEED + i)[1]]
        for i, probe in enumerate(item.probes)
    ]


def assert_only_its_own_solution_passes(item_id, names):
    variant = load_item(item_id, names)
    assert errors_of(variant) == errors_of(load_item(item_id))
    assert first_failure(variant, own_solution(item_id, names)) is None
    assert first_failure(variant, load_item(item_id).reference) is not None


def test_at_least_forty_items_take_conventions_and_the_others_have_a_reason():
    taking = {item for item, _ in TAKEN}
    assert len(taking) >= 40
    for item in TABLE.values():
        assert (item.id in taking) != (item.id in WITHOUT or item.kind in WITHOUT)


@pytest.mark.slow
@pytest.mark.parametrize(("item", "name"), TAKEN)
def test_a_public_solution_fails_under_each_convention_alone(item, name):
    assert_only_its_own_solution_passes(item, (name,))


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(("item", "names"), DRAWN)
def test_only_its_own_solution_passes_a_variant_that_is_drawn(item, names):
    assert_only_its_own_solution_passes(item, names)


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(("item", "name"), TAKEN)
def test_misconceptions_keep_their_names(item, name, ask_once):
    variant = load_item(item, (name,))
    for misconception in variant.misconceptions[:2]:
        if (item, misconception.name) in UNSEEN:
            continue
        found = diagnose(variant, misconception.subject, ask_learner=ask_once).misconceptions
        assert [m.name for m in found] == [misconception.name]


def test_a_mask_of_a_learner_with_the_public_meaning_is_called_inverted():
    report = check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens != pad_id)[:, None, None, :],
        conventions=["true_hides"],
    )
    assert report.misconception == "polarity_turned_round"
    assert "False at the padding and True at the real tokens" in str(report)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("01.sinusoidal_positions", "cosine_first"),
        ("04.split_heads", "heads_third"),
        ("09.collate", "second_first"),
        ("14.align", "target_first"),
    ],
)
def test_the_lesson_s_own_answer_is_told_of_its_convention(item, name):
    (found,) = diagnose(load_item(item, (name,)), load_item(item).reference).misconceptions
    (convention,) = (each for each in conventions_of(item) if each.name == name)
    assert found.name == f"forgets_{name}"
    assert found.symptom == "Your answer follows the lesson here, not your conventions."
    assert found.why == convention.sentence.replace("**", "")


NORM = ["weight_from_one", "bias_subtracted"]


@pytest.mark.parametrize(
    ("followed", "named"),
    [
        ([], "forgets_all_conventions"),
        (["weight_from_one"], "forgets_bias_subtracted"),
        (["bias_subtracted"], "forgets_weight_from_one"),
    ],
)
def test_the_convention_that_is_forgotten_is_the_one_that_is_named(followed, named):
    answer = load_item("03.layer_norm", followed).reference
    assert check("03.layer_norm", answer, conventions=NORM).misconception == named


def test_a_mask_that_is_right_but_for_its_dtype_is_not_called_inverted():
    report = check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens == pad_id)[:, None, None, :],
        conventions=["ones_hide"],
    )
    assert report.misconception == "numbers_instead_of_booleans"
    assert "Your mask has another dtype than int64" in str(report)


def test_a_convention_that_is_forgotten_is_not_put_together_with_a_misconception():
    variant = load_item("03.layer_norm", NORM)
    *_, first, second, every = variant.misconceptions
    assert first.name == "forgets_weight_from_one"
    for one in (first, second, every):
        assert variant.both(variant.misconceptions[0], one) is None


@pytest.mark.parametrize(("item", "name"), TAKEN)
def test_what_a_convention_leaves_out_is_there(item, name):
    (convention,) = (each for each in conventions_of(item) if each.name == name)
    known = {misconception.name for misconception in load_item(item).misconceptions}
    assert known.issuperset(convention.items[item].left_out)


def test_a_phrase_about_pytorch_keeps_its_meaning():
    for name in ("true_hides", "ones_hide"):
        texts = [m.why for m in load_item("06.causal_mask", (name,)).misconceptions]
        assert not any("MultiheadAttention" in text for text in texts)


PUBLIC = [  # phrases of the lesson's convention, which would be wrong
    ("03.layer_norm", "bias_subtracted", "bias is added"),
    ("03.layer_norm", "weight_from_one", "weight 1 and bias 0"),
    ("03.layer_norm", "vectors_first", "column"),
    ("04.scaled_dot_product_attention", "weights_first", "`context, weights`"),
    ("04.split_heads", "features_second", "split the last axis"),
    ("06.padding_mask", "true_hides", "tokens are not padding"),
    ("06.padding_mask", "keys_then_queries", "treated as queries"),
    ("07.decoder_block", "features_second", "one row per source token"),
    ("09.collate", "seq_first", "expects row i"),
    ("09.collate", "dict_results", "return the target first"),
    ("09.bucket", "longest_batch_first", "shortest first"),
    ("10.masked_cross_entropy", "bits", "Your loss is in bits: 1.44"),
    ("10.train_step", "sum", "not a mean"),
    ("11.inverse_sqrt_lr", "relative_to_peak", "four times the width"),
    ("11.inverse_sqrt_lr", "steps_from_zero", "counts from 1"),
    ("11.label_smoothed_loss", "bits", "Your loss is in bits: 1.44"),
    ("11.label_smoothed_loss", "smoothing_over_wrong", "among all V tokens"),
    ("11.label_smoothed_loss", "sum", "not a mean"),
    ("11.masked_accuracy", "percent", "from 0 to 1"),
    ("12.bleu", "bleu_to_one", "from 0 to 1."),
    ("12.paired_bootstrap", "samples_are_columns", "(R, N)"),
    ("12.paired_bootstrap", "first_wins", "(b > a)"),
    ("12.paired_bootstrap", "wins_in_percent", "the result is ½"),
    ("13.greedy_decode", "bos_kept", "still starts with"),
    ("13.greedy_decode", "time_first", "no row is longer"),
    ("13.beam_search", "scores_in_bits", "ln p"),
    ("13.cached_step", "positions_second", "by one row"),
    ("04.scaled_dot_product_attention", "heads_third", "the last two axes of key before"),
    ("04.scaled_dot_product_attention", "ones_hide", "yours is boolean"),
    ("04.split_heads", "features_second", "columns of a projection"),
    ("04.split_heads", "heads_third", "A direct reshape to"),
    ("04.merge_heads", "heads_third", "Heads come before tokens"),
    ("04.merge_heads", "seq_first", "(batch, heads · seq, d_head)"),
    ("04.multi_head_attention", "features_second", "each column of the output"),
    ("04.multi_head_attention", "seq_first", "then swap heads and seq"),
    ("06.causal_mask", "ones_hide", "row 0 is True"),
    ("09.collate", "seq_first", "does this row need"),
    ("11.inverse_sqrt_lr", "steps_from_zero", "rising curve is step / warmup"),
    ("11.inverse_sqrt_lr", "steps_from_zero", "at step warmup,"),
    ("11.label_smoothed_loss", "bits", "Nats per token"),
    ("11.label_smoothed_loss", "bits", "What is ln 0.5?"),
    ("11.label_smoothed_loss", "sum", "The mean then falls"),
    ("11.masked_accuracy", "percent", "\nright.sum()"),
    ("13.greedy_decode", "bos_kept", "how many tokens come out?"),
    ("13.greedy_decode", "time_first", "only EOS ends a row"),
    ("13.beam_search", "bos_kept", "len(h[1])"),
    ("14.alignment_error_rate", "agreement", "0 is perfect"),
    ("14.alignment_error_rate", "percent", "1 means"),
    ("14.align", "rows_are_sources", "largest weight in each column"),
    ("14.align", "words_from_one", "word t is predicted in row t\n"),
    ("14.heads_for_figure", "indices_from_one", "heads 4 and 5"),
    ("05.attention_einsum", "axes_reversed", "in each row"),
    ("05.multi_head_einsum", "axes_reversed", "Rows of a mask are queries"),
    ("05.puzzle_3", "axes_reversed", "rows are keys"),
    ("06.decoder_mask", "ones_attend", "doesn't accept a mask of numbers"),
    ("10.masked_cross_entropy", "bits", "nats *per token*"),
    ("10.masked_cross_entropy", "bits", "costs ln V"),
    ("10.masked_cross_entropy", "bits", "is the cost of each position. "),
    ("10.target_only_entropy", "bits", "costs -log("),
    ("10.target_only_entropy", "bits", "costs 2 · ln 2 / 12"),
    ("10.target_only_entropy", "sum", "costs 2 · ln 2 / 12"),
    ("12.paired_bootstrap", "wins_in_percent", "1, ½ or 0.\n"),
    ("14.alignment_error_rate", "percent", "1 - (len("),
    ("14.alignment_error_rate", "possible_without_sure", "is in both sets"),
    ("14.heads_for_figure", "indices_from_one", "attention[layer, sentence,"),
    ("14.heads_for_figure", "indices_from_one", "with the heads instead of"),
    ("14.heads_for_figure", "heads_last", "maps[..., query]"),
    ("01.sinusoidal_positions", "concatenated", "on the left and all cosines on the right"),
    ("01.shift_matrix", "cosine_first", "all sines first"),
    ("05.puzzle_3", "keys_then_queries", "(B, Q, K)"),
    ("07.pre_norm_encoder_block", "features_second", "\ny = self.norm_1(x)"),
    ("09.bucket", "longest_batch_first", "equal lengths keep their order; one"),
    ("10.masked_cross_entropy", "sum", "and then the"),
    ("10.masked_cross_entropy", "sum", "numbers do you average"),
]
# Phrases of the usual order of axes, which the public texts avoid, since a variant has another one.
USUAL_ORDER = (
    "last axis",
    "last two axes",
    "heads should come",
    "axis 1",
    "(1, 1, Q, K)",
    "(batch, heads, q, k)",
)


@pytest.mark.parametrize(("item", "name", "phrase"), PUBLIC)
def test_feedback_is_not_about_the_lesson_s_convention(item, name, phrase):
    def feedback(names):
        found = load_item(item, names)
        calls = [c.about for p in found.probes for c in p.calls(Draw(SEED))]
        told = [m for m in found.misconceptions if not m.name.startswith("forgets_")]
        words = [text for m in told for text in (m.symptom, m.why, m.hint)]
        return "\n".join([*found.hints, *(p.property for p in found.probes), *calls, *words, ""])

    assert phrase in feedback(())
    assert phrase not in feedback((name,))


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (item, name)
        for item, name in TAKEN
        if name in ("batch_last", "axes_reversed") and item[:2] == "05"
    ],
)
def test_feedback_on_einsum_is_not_about_the_usual_order_of_axes(item, name):
    told = [m for m in load_item(item, (name,)).misconceptions if not m.name.startswith("forgets_")]
    words = "\n".join(text for m in told for text in (m.symptom, m.why, m.hint))
    assert not [phrase for phrase in USUAL_ORDER if phrase in words]


def test_a_report_s_headline_is_not_about_the_usual_order_of_axes():
    def headline(names):
        return Report(diagnose(load_item("05.puzzle_3", names), lambda query, key: None)).headline

    assert "· Scores, heads first:" in headline(())
    assert "· Scores:" in headline(("axes_reversed",))


def test_exchanged_arguments_are_shown_by_their_own_names():
    item = load_item("11.inverse_sqrt_lr", ("width_last",))
    call = Call(([1], 16, 20))
    public = load_item("11.inverse_sqrt_lr")
    assert describe_arguments(public, call) == "d_model 16, warmup 20"
    assert describe_arguments(item, call) == "warmup 16, d_model 20"


def test_a_right_mask_passes_in_its_convention():
    assert check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens == pad_id)[:, None, None, :],
        conventions=["true_hides"],
    ).passed


def test_two_misconceptions_at_once_are_named_in_a_variant():
    report = check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens > pad_id)[:, None, :, None],
        conventions=["true_hides", "keys_then_queries"],
    )
    assert report.misconception == "polarity_turned_round + pads_are_the_lowest"


def test_the_course_s_own_code_turned_round_earns_nothing():
    from course_lib.model import padding_mask

    report = check(
        "06.padding_mask",
        lambda tokens, pad_id: ~padding_mask(tokens, pad_id),
        conventions=["true_hides"],
    )
    assert not report.passed
    assert report.diagnosis.borrowed


def test_a_public_item_is_the_same_object_as_before():
    assert load_item("06.padding_mask", ()) is load_item("06.padding_mask")
    assert load_item("06.padding_mask", ["true_hides"]).conventions == ("true_hides",)


@pytest.mark.usefixtures("own_messages")
@pytest.mark.parametrize(
    ("item", "names", "message"),
    [
        ("06.padding_mask", ["bits"], "must be among true_hides, .*got 'bits'"),
        ("06.padding_mask", ["true_hides", "ones_hide"], "must differ in what they are about"),
        ("06.bug", ["true_hides"], "must be among none at all"),
    ],
)
def test_conventions_that_an_item_does_not_take_are_refused(item, names, message):
    with pytest.raises(CourseError, match=message):
        load_item(item, names)


def test_the_smallest_failing_call_is_asked_for_with_its_conventions():
    report = check("14.align", lambda weights: {(0, 0)}, conventions=["words_from_one"])
    assert report.example is not None
    assert 'conventions=["words_from_one"]' in report.example.code
