"""Every item under its conventions: its own solution passes, the public one does not."""

import itertools

import pytest

from course_lib.checks import TABLE, check, load_item
from course_lib.checks.conventions import CONVENTIONS, WITHOUT, conventions_of
from course_lib.checks.conventions.variant_item import translated, under
from course_lib.checks.diagnose import SEED, diagnose
from course_lib.checks.trial import expected_answers
from course_lib.errors import CourseError
from course_lib.grading.variant_draw import draw_variants, of_items
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
        [answer.failure is not None for answer in expected_answers(probe, item, SEED + i)[1]]
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
@pytest.mark.parametrize(("item", "names"), DRAWN)
def test_only_its_own_solution_passes_a_variant_that_is_drawn(item, names):
    assert_only_its_own_solution_passes(item, names)


@pytest.mark.slow
@pytest.mark.parametrize(("item", "name"), TAKEN)
def test_misconceptions_keep_their_names(item, name):
    variant = load_item(item, (name,))
    for misconception in variant.misconceptions[:2]:
        if (item, misconception.name) in UNSEEN:
            continue
        found = diagnose(variant, misconception.subject).misconceptions
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
        ("13.align", "target_first"),
    ],
)
def test_the_lesson_s_own_answer_is_told_of_its_convention(item, name):
    (found,) = diagnose(load_item(item, (name,)), load_item(item).reference).misconceptions
    (convention,) = (each for each in conventions_of(item) if each.name == name)
    assert found.symptom == "Your answer follows the lesson here, not your conventions."
    assert found.why == convention.sentence.replace("**", "")


def test_a_phrase_about_pytorch_keeps_its_meaning():
    for name in ("true_hides", "ones_hide"):
        texts = [m.why for m in load_item("06.causal_mask", (name,)).misconceptions]
        assert not any("MultiheadAttention" in text for text in texts)


def test_a_right_mask_passes_in_its_convention():
    assert check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens == pad_id)[:, None, None, :],
        conventions=["true_hides"],
    ).passed


def test_two_misconceptions_at_once_are_named_in_a_variant():
    report = check(
        "06.padding_mask",
        lambda tokens, pad_id: (tokens != pad_id)[:, None, None, :],
        conventions=["true_hides", "keys_then_queries"],
    )
    assert report.misconception == "polarity_turned_round + rows_instead_of_columns"


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
    report = check("13.align", lambda weights: {(0, 0)}, conventions=["words_from_one"])
    assert report.example is not None
    assert 'conventions=["words_from_one"]' in report.example.code
