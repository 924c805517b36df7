from dataclasses import fields, replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from course_lib.model import PRESETS, Transformer, TransformerConfig, preset
from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.model.system_table import (
    DECISION_AT,
    KEY,
    SILENT,
    SPOTS,
    VOCABULARY,
    WIDEST,
    draw_systems,
)

SVG = "{http://www.w3.org/2000/svg}"
SYSTEMS = ("naive_mt", "fastai_qa", "fastestimator_ted", "einsum_scratch", "wmt14_de_en")
PAPER = preset("paper_base")


def drawing(**changes):
    """The five systems; ``changes`` of one of them by its name."""
    systems = {name: replace(preset(name), **changes.get(name, {})) for name in SYSTEMS}
    return draw_systems(systems, paper=PAPER).panels[0]


def alone(name, **changes):
    return draw_systems({name: replace(preset(name), **changes)}, paper=PAPER).panels[0]


def texts(panel):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + "text"))


def boxes(panel):
    """Name of each part, with the upper and lower edge of its box."""
    rects = ElementTree.fromstring(panel.svg()).iter(SVG + "rect")
    edges = [(float(r.get("y")), float(r.get("y")) + float(r.get("height"))) for r in rects]
    names = [text.text for text in texts(panel) if text.text in {spot.name for spot in SPOTS}]
    return dict(zip(names, edges, strict=True))


def cells(panel, head):
    """Part, decision and value of each cell in the column with this head, from top to bottom."""
    words = texts(panel)
    lines = (head, f"{head.partition('_')[0]}_")  # a name has two lines beside others
    column = next(text.get("x") for text in words if text.text in lines)
    named = {text.get("y"): text.text for text in words if text.get("x") == f"{DECISION_AT:.1f}"}
    return [
        (part, named[text.get("y")], text.text)
        for text in words
        if text.get("x") == column and text.get("y") in named
        for part, (top, bottom) in boxes(panel).items()
        if top < float(text.get("y")) < bottom
    ]


def short_name(decision):
    return next(spot.decisions[decision] for spot in SPOTS if decision in spot.decisions)


def value(config, decision):
    return config.resolved_d_head if decision == "d_head" else getattr(config, decision)


def in_words(x):
    if isinstance(x, bool):
        return "yes" if x else "no"
    if isinstance(x, int):
        return f"{x:,}"
    return {1e-6: "10⁻⁶", 1e-5: "10⁻⁵", 0.0: "0"}.get(x, str(x)) if isinstance(x, float) else x


def in_brackets(decision, published):
    return f"({published})" if decision in SILENT else published


def differing(config, other=PAPER):
    """Part and decision of each difference."""
    return [
        (spot.name, d)
        for spot in SPOTS
        for d in spot.decisions
        if value(config, d) != value(other, d)
    ]


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
    found = boxes(drawing())
    assert list(found) == list(path) and list(found.values()) == sorted(found.values())


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_column_says_what_differs_from_the_paper_and_nothing_else(name):
    panel, config = drawing(), preset(name)
    found = differing(config)
    expected = [(part, short_name(d), in_words(value(config, d))) for part, d in found]
    assert cells(panel, name) == expected
    for (_, d), (part, words, here) in zip(found, expected, strict=True):
        theirs = in_brackets(d, in_words(value(PAPER, d)))
        assert (part, words, theirs) in cells(panel, "paper")
        assert f"{part}, {words}: {here}, paper {theirs}." in panel.description


def test_the_counts_are_those_of_the_lesson():
    counts = [text.text for text in texts(drawing()) if text.text.endswith(" of 25")]
    assert counts == ["7 of 25", "9 of 25", "7 of 25", "8 of 25", "12 of 25"]
    assert drawing().title == "43 differences from the paper"


def test_the_accent_marks_the_row_in_which_all_systems_differ_and_no_other():
    marked = [text for text in texts(drawing()) if "accent" in text.get("style", "")]
    tables = [in_words(value(preset(name), "tying")) for name in SYSTEMS]
    assert [text.text for text in marked] == tables
    assert len({text.get("y") for text in marked}) == 1
    one = drawing(naive_mt={"tying": PAPER.tying, "source_vocab": 99, "target_vocab": 99})
    assert not [text for text in texts(one) if "accent" in text.get("style", "")]


def test_columns_of_systems_are_equally_far_apart():
    ends = [float(text.get("x")) for text in texts(drawing()) if text.text.endswith(" of 25")]
    steps = [b - a for a, b in pairwise(ends)]
    assert len(steps) == 4 and max(steps) - min(steps) < 0.3


def test_only_decisions_in_which_somebody_differs_have_a_row():
    rows = {(part, d) for name in SYSTEMS for part, d in differing(preset(name))}
    expected = [(s.name, s.decisions[d]) for s in SPOTS for d in s.decisions if (s.name, d) in rows]
    assert [(part, d) for part, d, _ in cells(drawing(), "paper")] == expected


def test_what_the_paper_does_not_say_stands_in_brackets_and_is_explained_where_it_occurs():
    for name in SYSTEMS:
        silent = any(value(preset(name), d) != value(PAPER, d) for d in SILENT)
        assert (KEY in [text.text for text in texts(alone(name))]) == silent
    assert sum(KEY in (text.text or "") for text in texts(drawing())) == 1


def test_a_changed_preset_changes_its_column_alone():
    before, after = drawing(), drawing(naive_mt={"n_heads": 4})
    heads = ("Attention", "heads", "4")
    assert heads in cells(after, "naive_mt") and heads not in cells(before, "naive_mt")
    for name in SYSTEMS[1:]:
        assert cells(after, name) == cells(before, name)


def test_of_one_system_simple_ratios_are_written():
    panel = alone("fastestimator_ted", d_model=384, d_ff=1024)
    assert cells(panel, "ratio") == [("Feed-forward", "hidden width", "½")]  # 384 is ¾ of 512
    assert "ratio" not in [text.text for text in texts(alone("naive_mt"))]


def test_two_systems_are_compared_without_a_word_about_the_paper():
    first, second = preset("fastai_qa"), preset("wmt14_de_en")
    panel = draw_systems({"fastai_qa": first}, paper=second, against="wmt14_de_en").panels[0]
    found = differing(first, second)
    theirs = [(part, short_name(d), in_words(value(second, d))) for part, d in found]
    assert cells(panel, "wmt14_de_en") == theirs
    assert panel.title == f"fastai_qa differs from wmt14_de_en in {len(found)} of 25 decisions"
    assert "paper" not in panel.svg()


def test_the_paper_itself_differs_in_nothing():
    panel = draw_systems({"paper_base": PAPER}, paper=PAPER).panels[0]
    assert panel.title == "paper_base differs from the paper in 0 of 25 decisions"
    assert cells(panel, "paper") == cells(panel, "paper_base") == []


@pytest.mark.parametrize("names", [SYSTEMS, *((name,) for name in PRESETS)])
def test_words_stay_inside_and_apart(names):
    panel = draw_systems({name: preset(name) for name in names}, paper=PAPER).panels[0]
    spans = {}
    for text in texts(panel):
        cls = text.get("class", "")
        width = text_width(text.text, 12 if "aside" in cls else 14, bold="bold" in cls)
        shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
        left = float(text.get("x")) - shift
        assert left >= -0.5 and left + width <= panel.width and float(text.get("y")) <= panel.height
        spans.setdefault(text.get("y"), []).append((left, left + width))
    for row in spans.values():
        row.sort()
        assert all(a[1] + 8 <= b[0] for a, b in pairwise(row))
    assert panel.width <= WIDEST


def test_no_system_is_refused():
    with pytest.raises(ValueError, match="at least one system"):
        draw_systems({}, paper=PAPER)


def test_more_systems_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="compare fewer at once"):
        draw_systems(PRESETS, paper=PAPER)
