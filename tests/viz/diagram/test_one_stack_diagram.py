"""The diagram of a model of one stack: its parts, its words, and the row that attention reads."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.data import BOS, EOS, PAD, UNK, Vocabulary
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.modern import PREFIX_PRESETS, PrefixConfig, PrefixTransformer, RMSNorm
from course_lib.viz.diagram.model_diagram import model_diagram
from course_lib.viz.diagram.model_diagram_geometry import ONE_STACK_NARROW, ONE_STACK_WIDE
from course_lib.viz.diagram.model_diagram_layout import layout_of
from course_lib.viz.diagram.model_diagram_picture import THEME
from course_lib.viz.diagram.one_stack_parts import one_stack_parts
from course_lib.viz.web.bundles import bundle
from tests.viz.diagram.test_model_diagram import assert_apart, code_of

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
TEXT = "der hund schläft ."
SIZES = {"vocab": 12, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 3, "max_len": 40}
CHOICES = [
    {},
    {"n_kv_heads": 2, "qk_norm": True, "activation": "geglu"},
    {"positions": "learned", "tied": False, "bias": True, "placement": "both"},
    {"positions": "sinusoidal", "norm": "layer", "placement": "post", "activation": "relu"},
    {"positions": "none"},
]
every_choice = pytest.mark.parametrize("changes", CHOICES, ids=str)


def config(**changes):
    return PrefixConfig(**SIZES | changes)


def make_translator(**changes):
    torch.manual_seed(0)
    words = "der hund schläft . the dog sleeps".split()
    vocabulary = Vocabulary.from_sentences([words], specials=(PAD, UNK, BOS, EOS))
    model = PrefixTransformer(config(vocab=len(vocabulary), **changes)).eval()
    with torch.no_grad():  # in no hurry to end
        model.stack.tokens.weight[[vocabulary.ids[token] for token in (PAD, UNK, EOS)]] = 0
    return Translator(model, vocabulary, vocabulary)


@pytest.fixture(scope="module")
def diagram():
    return model_diagram(make_translator(), TEXT, step=2)


def texts(**changes):
    return {part.id: part.text for part in one_stack_parts(config(**changes))}


@every_choice
def test_the_sentences_name_every_parameter_of_the_model(changes):
    model = PrefixTransformer(config(**changes))
    named = re.findall(r"([\d,]+) parameters", " ".join(texts(**changes).values()))
    assert sum(int(number.replace(",", "")) for number in named) == sum(
        parameter.numel() for parameter in model.parameters()
    )


@every_choice
def test_every_part_leads_to_a_lesson_that_exists(changes):
    parts = one_stack_parts(config(**changes))
    assert {"16", "02", "08", "13"} <= {part.lesson for part in parts}
    for part in parts:
        assert (NOTEBOOKS / part.link).is_file(), part
        assert 40 < len(part.text) < 200 and part.text.endswith("."), part
        assert part.stack in THEME


def test_the_words_follow_the_choices_of_the_configuration():
    lessons = {part.id: part.lesson for part in one_stack_parts(PREFIX_PRESETS["modern"])}
    modern, plain = (
        {part.id: part.text for part in one_stack_parts(PREFIX_PRESETS[name])}
        for name in ("modern", "prefix")
    )
    assert {lessons[name] for name in ("norm", "decoder_feed_forward", "target_positions")} == {
        "17"
    }
    assert modern["norm"].startswith("Divides every vector by its root mean square")
    assert modern["decoder_feed_forward"].startswith("Three matrices, one of them a gate, 472")
    assert modern["target_positions"].startswith("Nothing is added: attention turns each query")
    assert modern["decoder_attention"].startswith("In 4 heads with 2 of keys and values, source")
    assert "128 numbers of each word in each layer" in modern["memory"]
    assert plain["norm"].startswith("Gives every vector mean 0 and standard deviation 1")
    assert plain["decoder_feed_forward"].startswith("Two matrices, 640")
    assert plain["target_positions"].startswith("Adds a pattern of sines and cosines")
    assert plain["decoder_attention"].startswith("In 4 heads, source words")
    assert "table of the embedding" in plain["output"]
    assert "embedding" not in texts(tied=False)["output"]
    assert ", before and after each part," in texts(placement="both")["norm"]
    assert "target_positions" not in texts(positions="none")


def test_only_the_languages_that_are_given_are_named():
    named = one_stack_parts(config(), ("German", "English"))
    for part, plain in zip(named, one_stack_parts(config()), strict=True):
        assert not re.search("German|English", plain.name + plain.text)
        for language, side in (("German", "source"), ("English", "target")):
            part = replace(
                part, name=part.name.replace(language, side), text=part.text.replace(language, side)
            )
        assert part == plain


@every_choice
@pytest.mark.parametrize("sizes", [ONE_STACK_WIDE, ONE_STACK_NARROW], ids=["wide", "narrow"])
def test_no_part_covers_another_or_leaves_the_page(sizes, changes):
    layout = layout_of(config(**changes), ["hund"] * 20, ["dog"] * 20, sizes=sizes)
    assert layout.boxes.keys() == texts(**changes).keys() - {"norm", "residual"}
    assert layout.frames.keys() == {"one stack"}
    assert_apart(layout)


@every_choice
def test_the_norms_stand_where_the_model_has_them(changes):
    layout = layout_of(config(**changes), ["a"], ["b"], sizes=ONE_STACK_WIDE)
    model = PrefixTransformer(config(**changes)).stack
    norms = (torch.nn.LayerNorm, RMSNorm)
    block = [name for name, part in model.layers[0].named_children() if isinstance(part, norms)]
    assert len(layout.norms) == len(block) + isinstance(model.final_norm, norms)
    attention, feed_forward = (layout.boxes[f"decoder_{n}"] for n in ("attention", "feed_forward"))
    first = max(layout.norms, key=lambda box: box.y)
    assert (first.y > attention.bottom) == (not model.layers[0].is_post)
    between = [box for box in layout.norms if feed_forward.bottom < box.y < attention.y]
    assert len(between) == len(block) // 2


def test_positions_are_added_or_go_to_attention():
    for positions, rings in (("sinusoidal", 3), ("learned", 3), ("rotary", 2), ("none", 2)):
        layout = layout_of(config(positions=positions), ["a"], ["b"], sizes=ONE_STACK_WIDE)
        assert len(layout.rings) == rings
        attention = layout.boxes["decoder_attention"]
        into = [arrow for arrow in layout.arrows if arrow.points[-1].x == attention.x]
        assert len(into) == 1 + (positions == "rotary")


def test_the_arrows_say_the_shapes_of_the_tensors():
    layout = layout_of(config(), ["a"] * 9, ["b"] * 4, sizes=ONE_STACK_WIDE)
    shapes = [arrow.text for arrow in layout.arrows if arrow.label and not arrow.aside]
    assert shapes == ["(1, 9+{t})", "(1, 9+{t}, 16)", "(1, 9+{t}, 16)", "(1, {t}, 12)"]


def test_each_step_shows_what_the_model_predicts_and_what_it_attends_to(diagram):
    translator = make_translator()
    translation, attention = translator.attend(TEXT)
    probabilities = translator.next_token_probabilities(translation)
    assert diagram.target == [BOS, *translation.target]
    for t, step in enumerate(diagram.steps):
        best = translator.target_vocabulary.tokens[probabilities[t].argmax()]
        assert step.top[0] == (best, round(float(probabilities[t].max()), 3))
        weights = attention.decoder[-1, 0, :, 4 + t, : 4 + t + 1].mean(dim=0)
        assert step.attention == pytest.approx(weights.tolist(), abs=0.006)
        assert sum(step.attention) == pytest.approx(1, abs=0.05)


def test_the_picture_says_that_one_stack_reads_one_row(diagram):
    row = [*TEXT.split(), *diagram.target[:3]]
    weights = diagram.steps[2].attention
    most = row[weights.index(max(weights))]
    words = f"one stack reads “{' '.join(row)}” and predicts “{diagram.steps[2].top[0][0]}”"
    assert f"in 12 parts: {words}, for which self-attention" in repr(diagram)
    assert f"attends to “{most}” most ({max(weights):.2f})." in repr(diagram)
    static = diagram.to_html().split("<span hidden")[0]
    for part in diagram.parts:
        assert f'<a href="{part.link}">{part.name}</a>: {html.escape(part.text)}</li>' in static
    words = json.dumps([static, code_of(diagram.to_html())["diagram"]])
    assert not re.search("cross-attention|encoder reads|decoder reads", words)


def test_each_kind_of_model_has_its_own_script(diagram):
    code = code_of(diagram.to_html())
    assert code["module"] == bundle("one_stack_diagram") != bundle("model_diagram")
    stacks = {part["id"]: part["stack"] for part in code["diagram"]["parts"]}
    assert (stacks["source"], stacks["memory"]) == ("encoder", "decoder")


def test_a_model_without_a_translator_is_refused(own_messages):
    model = make_translator().model.stack
    with pytest.raises(CourseError, match="expected a Translator, .* got DecoderOnly: a model"):
        model_diagram(model, TEXT)
