"""Runs of lesson 03: the count follows from layer and change, and the report says why."""

from dataclasses import replace

import pytest

from course_lib.checks import _module, make_run
from course_lib.checks.items.feed_forward.predict import LAYERS

RUN = _module("03.predict").run
NUMBERS = range(500, 700)
WHY = {  # by layer and kind of change, where they need each other
    ("sentence_norm", "exchanged"): "the two that were exchanged",
    ("batch_norm", "exchanged"): "the two that were exchanged",
    ("sentence_norm", "sentence"): "have the same factor",
    ("sentence_norm", "all"): "have the same factor",
    ("batch_norm", "all"): "have the same factor",
    ("sentence_norm", "times"): "those of the sentence that was changed",
    ("sentence_norm", "plus"): "those of the sentence that was changed",
    ("sentence_norm", "another"): "those of the sentence that was changed",
    ("batch_norm", "sentence"): "all vectors of all sentences have a say",
}


def expected(made):
    """How many vectors change, from the layer and the change alone."""
    sentences, length, _ = made.before.shape
    everything = sentences * length
    inputs = {"sentence": length, "all": everything, "exchanged": 2}.get(made.kind, 1)
    factor_of = {"sentence_norm": ("sentence", "all"), "batch_norm": ("all",)}
    if made.layer in factor_of and made.kind == "exchanged":
        return 2
    taken_out = made.layer == "layer_norm" and made.kind not in ("another", "exchanged")
    if taken_out or made.kind in factor_of.get(made.layer, ()):
        return 0
    return {"sentence_norm": length, "batch_norm": everything, "dropout": everything}.get(
        made.layer, inputs
    )


def test_the_count_follows_from_the_layer_and_the_change():
    for number in NUMBERS:
        made = RUN.run(number)
        assert made.changed == expected(made), number


def test_the_report_has_the_count_of_each_of_the_six_layers():
    for number in NUMBERS:
        made = RUN.run(number)
        counts = [expected(replace(made, layer=name)) for name in LAYERS]
        assert made.by_layer == counts and made.changed == counts[[*LAYERS].index(made.layer)]
        listed = ", ".join(map(str, counts))
        assert f"For this change, the counts of the layers a to f are {listed}." in RUN.says(made)


def test_no_vector_changes_by_nearly_the_threshold():
    for number in NUMBERS:
        shown = make_run("03.predict", number=number)
        moved = (shown["after"] - shown["before"]).abs().amax(-1)
        assert not ((moved > 1e-4) & (moved < 1e-2)).any(), number


@pytest.mark.parametrize("layer_and_kind", WHY)
def test_the_report_gives_the_reason_for_this_kind_of_change(layer_and_kind):
    runs = (RUN.run(number) for number in NUMBERS)
    made = next(each for each in runs if (each.layer, each.kind) == layer_and_kind)
    assert WHY[layer_and_kind] in RUN.says(made)
