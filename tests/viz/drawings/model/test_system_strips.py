import re
from dataclasses import fields, replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.model import PRESETS, Transformer, TransformerConfig, preset
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.system_strips import (
    KEY,
    SILENT,
    SPOTS,
    VOCABULARY,
    draw_systems,
)

SVG = "{http://www.w3.org/2000/svg}"
SYSTEMS = ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")
PAPER = preset("paper_base")


def drawing(**changes):
    """The five systems; ``changes`` of one of them by its name."""
    systems = {name: replace(preset(name), **changes.get(name, {})) for name in SYSTEMS}
    return draw_systems(systems, paper=PAPER)


def texts(panel):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + "text"))


def lines(panel):
    """What stands beside the boxes: (decision, value here, value in the paper)."""
    accent = "var(--accent)"
    words = [
        text
        for text in texts(panel)
        if "bold" in text.get("class", "") or "aside" in text.get("class", "")
    ]
    found = []
    for before, text, after in zip(words, words[1:], words[2:], strict=False):
        if accent in text.get("style", ""):
            found.append((before.text, text.text, after.text))
    return found


def short_name(decision):
    return next(spot.decisions[decision] for spot in SPOTS if decision in spot.decisions)


def value(config, decision):
    return config.resolved_d_head if decision == "d_head" else getattr(config, decision)


def in_words(x):
    if isinstance(x, bool):
        return "yes" if x else "no"
    return (
        f"{x:,}"
        if isinstance(x, int)
        else f"{x:g}".replace("e-0", "e-")
        if isinstance(x, float)
        else x
    )


def in_brackets(decision, published):
    return f"({published})" if decision in SILENT else published


def test_every_decision_of_a_configuration_has_one_spot():
    placed = [decision for spot in SPOTS for decision in spot.decisions]
    assert len(placed) == len(set(placed))
    assert {*placed, *VOCABULARY} == {field.name for field in fields(TransformerConfig)}


def test_spots_stand_in_the_order_of_the_model():
    parts = [name for name, _ in Transformer(preset("small")).named_modules()]
    path = {
        "Embeddings": "source_embedding.tokens",
        "Positions": "source_embedding.positions",
        "Blocks": "encoder.layers",
        "Attention": "encoder.layers.0.self_attention",
        "Feed-forward": "encoder.layers.0.feed_forward",
        "Add & norm": "encoder.layers.0.add_norm_1",
        "Output": "output",
    }
    order = [parts.index(path[spot.name]) for spot in SPOTS]
    assert order == sorted(order)
    for panel in drawing().panels:
        boxes = [text for text in texts(panel) if text.text in path]
        heights = [float(text.get("y")) for text in boxes]
        assert [text.text for text in boxes] == list(path) and heights == sorted(heights)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_strip_says_what_differs_from_the_paper_and_nothing_else(name):
    panel = drawing().panels[SYSTEMS.index(name)]
    config = preset(name)
    expected = [
        (short_name(d), in_words(value(config, d)), in_brackets(d, in_words(value(PAPER, d))))
        for spot in SPOTS
        for d in spot.decisions
        if value(config, d) != value(PAPER, d)
    ]
    assert lines(panel) == expected
    for decision, here, paper in expected:
        assert f"{decision}: {here}, in the paper {paper}." in panel.description
    n = sum(len(spot.decisions) for spot in SPOTS)
    assert panel.title == f"{name}: {len(expected)} of {n}"


def test_the_counts_are_those_of_the_lesson():
    counts = [re.search(r": (\d+) of 25", panel.title)[1] for panel in drawing().panels]
    assert counts == ["7", "9", "7", "8", "12"]


def test_only_boxes_of_spots_that_differ_are_lit():
    for panel in drawing().panels:
        lit = panel.body.count('stroke="var(--accent)" stroke-width="2.4"')
        told = {spot.name for spot in SPOTS if f"{spot.name}, " in panel.description}
        assert lit == len(told)


def test_what_the_paper_does_not_say_stands_in_brackets_and_is_explained_where_it_occurs():
    for name, panel in zip(SYSTEMS, drawing().panels, strict=True):
        config = preset(name)
        silent = any(value(config, d) != value(PAPER, d) for d in SILENT)
        assert (KEY in [text.text for text in texts(panel)]) == silent


def test_a_changed_preset_changes_its_strip_alone():
    before, after = drawing().panels, drawing(naive_mt={"n_heads": 4}).panels
    assert ("heads", "4", "8") in lines(after[0]) and ("heads", "4", "8") not in lines(before[0])
    assert [lines(a) for a in before[1:]] == [lines(b) for b in after[1:]]


def test_all_strips_have_one_form():
    def form(panel):
        return [
            (rect.get("y"), rect.get("height"))
            for rect in ElementTree.fromstring(panel.svg()).iter(SVG + "rect")
        ]

    first, *others = drawing().panels
    assert all(form(panel) == form(first) and panel.height == first.height for panel in others)


def test_the_paper_itself_lights_nothing():
    panel = draw_systems({"paper_base": PAPER}, paper=PAPER).panels[0]
    assert panel.title == "paper_base: 0 of 25"
    assert "accent" not in panel.body and "here" not in panel.body


def test_each_preset_can_be_drawn_and_its_words_stay_inside_and_apart():
    for panel in draw_systems(PRESETS, paper=PAPER).panels:
        spans = {}
        for text in texts(panel):
            cls = text.get("class", "")
            width = text_width(text.text, 12 if "aside" in cls else 14) * (
                1.08 if "bold" in cls else 1
            )
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            left = float(text.get("x")) - shift
            assert left >= -0.5 and left + width <= 340 and float(text.get("y")) <= panel.height
            spans.setdefault(text.get("y"), []).append((left, left + width))
        for row in spans.values():
            row.sort()
            assert all(a[1] <= b[0] for a, b in pairwise(row))


def test_no_system_is_refused():
    with pytest.raises(ValueError, match="at least one system"):
        draw_systems({}, paper=PAPER)


def test_a_name_for_which_there_is_no_room_is_refused():
    with pytest.raises(ValueError, match="about 25 letters"):
        draw_systems({"a_system_with_a_very_long_name": PAPER}, paper=PAPER)
