"""Every item under its conventions: its own solution passes, the public one does not."""

import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.checks import TABLE, check, load_item
from course_lib.checks.conventions import CONVENTIONS, WITHOUT, conventions_of
from course_lib.checks.conventions.variant_item import HINT_LEFT_OUT, translated, under
from course_lib.checks.diagnosis.arguments import describe_arguments
from course_lib.checks.diagnosis.diagnose import SEED, diagnose
from course_lib.checks.diagnosis.trial import expected_answers
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.draw import Draw
from course_lib.checks.engine.item import Bug, Item, name_in_words
from course_lib.errors import CourseError
from course_lib.grading.variants.variant_draw import (
    conventions_by_item,
    draw_variants,
    names_by_item,
)
from tests.checks.first_failure import first_failure

CHECKED = [entry.id for entry in TABLE.values() if entry.kind not in WITHOUT]
TAKEN = [(item, each.name) for item in CHECKED for each in conventions_of(load_item(item))]
LESSONS = sorted({item[:2] for item, _ in TAKEN})
# Of each lesson, an item for which several conventions are drawn together.
TOGETHER = [
    max(
        (each for c in draw_variants(lesson, 6, "2026-autumn") for each in names_by_item(taken, c)),
        key=lambda each: len(each[1]),
    )
    for lesson, taken in ((lesson, conventions_by_item(lesson)) for lesson in LESSONS)
]
# Wrong answers whose effect a translation takes away, since it copies what they change in place.
UNSEEN = {
    ("01.positional_encoding", "EditsItsInput"),
    ("14.alignment_error_rate", "eats_its_input"),
    ("17.rotate", "edits_its_input"),
}


def convention(item_id, name):
    (found,) = (each for each in conventions_of(load_item(item_id)) if each.name == name)
    return found


def own_solution(item_id, names):
    """The public solution, translated."""
    item = load_item(item_id)
    subject = item.reference
    for each in conventions_of(item):
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


def named(item, subject, asked):
    return [m.name for m in diagnose(item, subject, ask_learner=asked).misconceptions]


def texts(item):
    """All that a learner may read of an item, as (text, what stands for one that is left out)."""
    yield from ((hint, HINT_LEFT_OUT) for hint in item.hints)
    for i, probe in enumerate(item.probes, 1):
        yield probe.property, f"test {i}"
        yield from ((call.about, "one of the inputs of this test") for call in probe.calls(Draw(0)))
    for m in item.misconceptions:
        if not m.name.startswith("forgets_"):
            left_out = m.symptom if m.symptom.startswith("The misconception “") else None
            yield from ((text, left_out or text) for text in (m.symptom, m.why, m.hint) if text)


def test_at_least_forty_items_take_conventions_and_each_convention_is_taken():
    assert len({item for item, _ in TAKEN}) >= 40
    assert {name for _, name in TAKEN} == {each.name for each in CONVENTIONS}


def test_a_new_item_takes_the_conventions_that_its_signature_allows_without_an_entry():
    def masked(
        x: Float[Tensor, "batch length d_model"], mask: Bool[Tensor, "batch 1 query key"]
    ) -> Float[Tensor, "batch length d_model"]:
        return x

    hints = ("A nudge.", "An approach.", "Almost the code.")
    taken = [
        each.name
        for each in conventions_of(Item("07.new", reference=masked, probes=(), hints=hints))
    ]
    assert taken == [
        *("true_hides", "ones_attend", "ones_hide"),
        *("seq_first", "features_second", "batch_third"),
    ]
    bug = Item("07.new", reference=masked, probes=(), hints=hints, bug=Bug("return x", 1))
    assert conventions_of(bug) == ()


def test_an_item_may_refuse_what_its_signature_allows():
    aspects = {each.aspect for each in conventions_of(load_item("03.add_norm"))}
    assert aspects == {"name of the norm"}


@pytest.mark.slow
@pytest.mark.parametrize(("item", "name"), TAKEN)
def test_under_a_convention_its_own_solution_passes_and_every_other_fails(item, name, ask_once):
    public, variant = load_item(item), load_item(item, (name,))
    assert errors_of(variant) == errors_of(public)
    assert first_failure(variant, own_solution(item, (name,))) is None
    assert named(variant, public.reference, ask_once) == [f"forgets_{name}"]
    wrong = [m for m in variant.misconceptions[1:] if (item, m.name) not in UNSEEN]
    assert [m.name for m in wrong if first_failure(variant, m.subject) is None] == []
    for misconception in wrong[:1]:  # it may do what the lesson's own answer does
        expected = {misconception.name, f"forgets_{name}"}
        assert expected.issuperset(named(variant, misconception.subject, ask_once) or [None])


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(("item", "names"), TOGETHER)
def test_only_its_own_solution_passes_a_variant_that_is_drawn(item, names, ask_once):
    variant = load_item(item, names)
    assert errors_of(variant) == errors_of(load_item(item))
    assert first_failure(variant, own_solution(item, names)) is None
    (found,) = named(variant, load_item(item).reference, ask_once)
    assert found == ("forgets_all_conventions" if len(names) > 1 else f"forgets_{names[0]}")


@pytest.mark.parametrize("item", sorted({item for item, _ in TAKEN}))
def test_texts_of_a_variant_are_the_item_s_own_without_what_its_convention_touches(item):
    public = {text for text, _ in texts(load_item(item))}
    for each in conventions_of(load_item(item)):
        shown = [t for t, left_out in texts(load_item(item, (each.name,))) if t != left_out]
        assert public.issuperset(shown)
        assert [text for text in shown if each.touches(text)] == []


@pytest.mark.parametrize(("item", "names"), TOGETHER)
def test_each_of_several_conventions_can_be_named_as_forgotten(item, names):
    known = [m.name for m in load_item(item, names).misconceptions]
    expected = {f"forgets_{name}" for name in names}
    assert expected | ({"forgets_all_conventions"} if len(names) > 1 else set()) == {
        name for name in known if name.startswith("forgets_")
    }


def test_a_convention_that_an_item_does_not_take_is_not_applied():
    with pytest.raises(
        CourseError, match=r"a convention that 02\.transformer_embedding takes, got"
    ):
        under(load_item("02.transformer_embedding"), convention("12.bleu", "bleu_to_one"))


def test_a_text_that_is_left_out_leaves_the_name_or_a_reason():
    variant = load_item("06.causal_mask", ("true_hides",))
    assert variant.hints == (HINT_LEFT_OUT,) * 3
    told = next(m for m in variant.misconceptions if m.name == "diagonal_hidden")
    assert told.symptom.startswith("The misconception “diagonal hidden”. The lesson's explanation")
    assert (told.why, told.hint) == ("", "")


@pytest.mark.slow
def test_a_misconception_whose_name_is_about_the_convention_is_not_named():
    names = [m.name for m in load_item("10.masked_cross_entropy", ("bits",)).misconceptions]
    assert "in_bits" not in names
    assert "in_bits" in [m.name for m in load_item("10.masked_cross_entropy").misconceptions]
    touched = [
        (item, name, m.name)
        for item, name in TAKEN
        for m in load_item(item, (name,)).misconceptions[1:]
        if convention(item, name).touches(name_in_words(m.name))
    ]
    assert touched == []


def test_an_error_that_is_not_explained_is_shown_with_its_first_difference():
    report = str(
        check(
            "06.causal_mask",
            lambda size: torch.ones(1, 1, size, size, dtype=torch.bool).triu(),
            conventions=["true_hides"],
        )
    )
    assert "The misconception “diagonal hidden”" in report
    assert "element [0, 0, 0, 0]: expected False, got True" in report
    assert "# expected: [[[[False, True," in report
    assert "Why it matters" not in report


@pytest.mark.parametrize("html", [False, True])
def test_a_learner_who_follows_the_lesson_reads_all_of_the_convention(html):
    public = load_item("06.padding_mask").reference
    report = check("06.padding_mask", lambda t, p: public(t, p), conventions=["true_hides"])
    text = report._repr_html_() if html else str(report)
    assert report.misconception == "forgets_true_hides"
    assert "follows the lesson here, not your group" in text
    assert "A mask is boolean, and True means hidden: that key gets no weight." in text


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
    assert report.misconception == "another_dtype"


def test_a_convention_that_is_forgotten_is_not_put_together_with_a_misconception():
    variant = load_item("03.layer_norm", NORM)
    every, second, first, *others = variant.misconceptions
    assert [m.name for m in (every, second, first)] == [
        "forgets_all_conventions",
        "forgets_bias_subtracted",
        "forgets_weight_from_one",
    ]
    for one in (first, second, every):
        assert variant.together(others[0], one) is None


@pytest.mark.parametrize(
    ("item", "name", "phrase"),
    [  # phrases that are right in the lesson and would be wrong here
        ("03.layer_norm", "vectors_first", "last axis only"),
        ("04.multi_head_attention", "seq_first", "then swap heads and seq"),
        ("05.multi_head_einsum", "axes_reversed", "Rows of a mask are queries"),
        ("06.decoder_mask", "ones_attend", "doesn't accept a mask of numbers"),
        ("07.encoder_block", "true_hides", "True always means that a query may attend"),
        ("08.tie", "tying_counts", "For 'output' you tied"),
        ("09.bucket", "longest_batch_first", "equal lengths keep their order; one"),
        ("10.masked_cross_entropy", "bits", "gives ln p of every token"),
        ("11.label_smoothed_loss", "bits", "Nats per token"),
        ("11.inverse_sqrt_lr", "steps_from_zero", "at step warmup,"),
        ("13.greedy_decode", "bos_kept", "how many tokens come out?"),
        ("14.align", "rows_are_sources", "Row t predicts word t."),
    ],
)
def test_feedback_is_not_about_the_lesson_s_convention(item, name, phrase):
    def feedback(names):
        return "\n".join(text for text, _ in texts(load_item(item, names)))

    assert phrase in feedback(())
    assert phrase not in feedback((name,))


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


@pytest.mark.slow
def test_the_smallest_failing_call_is_asked_for_with_its_conventions():
    report = check("14.align", lambda weights: {(0, 0)}, conventions=["words_from_one"])
    assert report.example is not None
    assert 'conventions=["words_from_one"]' in report.example.code
