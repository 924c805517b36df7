"""The model as one diagram: what it shows, where it stands, what is stored of it."""

import base64
import html
import json
import re
import zlib
from io import BytesIO
from pathlib import Path

import pytest
import torch
from PIL import Image

from course_lib.data import BOS, EOS, PAD, UNK, Vocabulary
from course_lib.decoding import Translator
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.training import load_translator
from course_lib.viz.diagram.model_diagram import MAX_TOKENS, model_diagram, stylesheet
from course_lib.viz.diagram.model_diagram_geometry import NARROW, WIDE
from course_lib.viz.diagram.model_diagram_layout import layout_of
from course_lib.viz.diagram.model_diagram_parts import parts_of
from course_lib.viz.diagram.model_diagram_picture import ASSETS, THEME
from course_lib.viz.web.bundles import bundle

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"
TEXT = "der hund schläft ."
TEXTS_BETWEEN = ("norm", "residual")  # drawn wherever there is a norm or a sum


def make_translator(**changes):
    torch.manual_seed(0)
    source = Vocabulary.from_sentences(
        ["der hund die katze schläft .".split()], specials=(PAD, UNK)
    )
    target = Vocabulary.from_sentences(["the <b> dog sleeps .".split()], specials=(PAD, BOS, EOS))
    sizes = {"source_vocab": len(source), "target_vocab": len(target), "max_len": 40}
    small = {"d_model": 16, "d_ff": 32, "n_heads": 2} | sizes | changes
    model = Transformer(preset("small", **small)).eval()
    with torch.no_grad():  # sure of something, and in no hurry to end
        model.output.weight.mul_(3)
        model.output.bias[target.ids[EOS]] -= 1
        model.output.bias[target.ids[PAD]] -= 9
    return Translator(model, source, target)


@pytest.fixture(scope="module")
def diagram():
    return model_diagram(make_translator(), TEXT, step=2)


def code_of(markup):
    return json.loads(zlib.decompress(base64.b64decode(re.search(r'data-code="(.*?)"', markup)[1])))


def config(**changes):
    return preset("small", source_vocab=932, target_vocab=661, **changes)


def test_each_step_shows_the_token_that_greedy_decoding_generates(diagram):
    translation = make_translator().translate(TEXT)
    assert diagram.target == [BOS, *translation.target]
    assert len(diagram.steps) == len(diagram.target)
    words = [step.top[0][0] for step in diagram.steps]
    assert words[: len(translation.target)] == translation.target
    for step in diagram.steps:
        probabilities = [value for _, value in step.top]
        assert probabilities == sorted(probabilities, reverse=True)
        assert len(step.top) == 5
        assert len(step.attention) == len(diagram.source)
        assert sum(step.attention) == pytest.approx(1, abs=0.03)


def test_the_numbers_are_those_of_the_model(diagram):
    translator = make_translator()
    translation, attention = translator.attend(TEXT)
    probabilities = translator.next_token_probabilities(translation)[2]
    best = probabilities.argmax()
    word = translator.target_vocabulary.tokens[best]
    assert diagram.steps[2].top[0] == (word, round(float(probabilities[best]), 3))
    mean = attention.cross[-1, 0, :, 2].mean(dim=0)
    assert diagram.steps[2].attention == pytest.approx(mean.tolist(), abs=0.006)


def test_a_long_sentence_is_refused(own_messages):
    with pytest.raises(CourseError, match=f"room for {MAX_TOKENS} tokens on each side, got 21"):
        model_diagram(make_translator(), "hund " * 21)


@pytest.mark.slow
def test_a_step_that_is_not_there_is_the_nearest_one():
    first, last = (model_diagram(make_translator(), TEXT, step=step) for step in (-1, 99))
    assert (first.shown, last.shown) == (0, len(last.steps) - 1)
    assert first.to_png() != last.to_png()


def test_every_part_leads_to_a_lesson_that_exists():
    for part in parts_of(config()):
        assert (NOTEBOOKS / part.link).is_file(), part
        assert part.link.startswith(part.lesson)
        assert 40 < len(part.text) < 200 and part.text.endswith("."), part
        assert part.stack in THEME


def test_only_the_languages_that_are_given_are_named():
    french = preset("fastai_qa", source_vocab=900, target_vocab=700)
    of_lesson = parts_of(config(), ("German", "English"))
    for part, named, other in zip(parts_of(french), of_lesson, parts_of(config()), strict=True):
        assert not re.search("German|English|French", part.name + part.text), part
        named = named.text.replace("German flows into English", "the source flows into the target")
        assert named.replace("German", "source").replace("English", "target") == other.text
    shown = model_diagram(make_translator(), TEXT, languages=("French", "English"))
    texts = json.dumps(code_of(shown.to_html())["diagram"])
    assert "Each French word attends to all French words" in texts and "German" not in texts


def assert_apart(layout):
    """No box covers another, and nothing leaves the page."""
    onto_the_frame = {"encoder_layers", "decoder_layers"}
    boxes = [box for name, box in layout.boxes.items() if name not in onto_the_frame]
    boxes += layout.norms
    for i, a in enumerate(boxes):
        assert a.x >= 0 and a.x + a.width <= layout.width
        assert a.y >= 0 and a.bottom <= layout.height
        for b in boxes[:i]:
            apart = a.x >= b.x + b.width or b.x >= a.x + a.width
            assert apart or a.y >= b.bottom or b.y >= a.bottom, (a, b)
    for arrow in layout.arrows:
        assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in arrow.points)


@pytest.mark.parametrize("changes", [{}, {"norm": "post"}, {"final_norm": False}], ids=str)
@pytest.mark.parametrize("sizes", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_part_covers_another_or_leaves_the_page(sizes, changes):
    layout = layout_of(config(**changes), ["hund"] * 20, ["dog"] * 20, sizes=sizes)
    names = {part.id for part in parts_of(config())} - set(TEXTS_BETWEEN)
    assert layout.boxes.keys() == names
    assert_apart(layout)


@pytest.mark.parametrize(("norm", "below"), [("pre", True), ("post", False)])
def test_the_norm_stands_before_the_part_or_after_the_sum_as_in_the_model(norm, below):
    layout = layout_of(config(norm=norm, final_norm=False), ["a"], ["b"], sizes=WIDE)
    attention, feed_forward = (layout.boxes[f"encoder_{n}"] for n in ("attention", "feed_forward"))
    first = max(layout.norms[:2], key=lambda box: box.y)
    assert (first.y > attention.bottom) == below
    assert (feed_forward.bottom < first.y < attention.y) == (not below)


def test_the_arrows_say_the_shapes_of_the_tensors():
    layout = layout_of(config(), ["a"] * 9, ["b"] * 4, sizes=WIDE)
    texts = [arrow.text for arrow in layout.arrows if arrow.label and not arrow.aside]
    encoder = ["(1, 9)", "(1, 9, 128)", "(1, 9, 128)"]
    decoder = ["(1, {t})", "(1, {t}, 128)", "(1, {t}, 128)", "(1, {t}, 661)"]
    assert texts == [*encoder, *decoder, "(1, 9, 128)"]


def test_one_output_holds_a_picture_with_words_a_page_and_a_digest(diagram):
    data = diagram._repr_mimebundle_()
    assert data.keys() == {"text/html", "text/plain"}
    assert data["text/plain"] == repr(diagram)
    assert f'<img alt="{html.escape(repr(diagram))}"' in data["text/html"]
    assert f"In {len(diagram.steps)} steps it writes “" in data["text/plain"]


def test_without_a_script_there_is_a_sentence_and_a_link_for_each_part(diagram):
    static = diagram.to_html().split("<span hidden")[0]
    for part in diagram.parts:
        assert f'<a href="{part.link}">{part.name}</a>: {html.escape(part.text)}</li>' in static
    assert "<script" not in static


def test_the_picture_has_the_colours_of_the_theme(diagram):
    picture = Image.open(BytesIO(diagram.to_png())).convert("RGB")
    layout = diagram.layouts["wide"]
    assert picture.size == (layout.width, layout.height)
    for part in diagram.parts:
        if part.id in layout.boxes:
            x, y, width, height = layout.boxes[part.id]
            pixel = picture.getpixel((int(x + width - 4), int(y + height - 4)))
            assert "#{:02x}{:02x}{:02x}".format(*pixel) == THEME[part.stack], part.id


def test_tokens_are_data_and_never_markup(diagram):
    assert "<b>" in make_translator().target_vocabulary.tokens
    assert "<b>" not in diagram.to_html()
    assert code_of(diagram.to_html())["diagram"]["target"][0] == BOS


def test_the_same_diagram_gives_the_same_bytes(diagram):
    again = model_diagram(make_translator(), TEXT, step=2)
    assert again.to_html() == diagram.to_html()
    assert again.to_png() == diagram.to_png()


def test_it_is_saved_as_a_page_of_its_own(diagram, tmp_path):
    path = tmp_path / "diagram.html"
    diagram.save_html(path)
    assert path.read_text("utf-8").startswith("<!doctype html>")
    assert diagram.to_html() in path.read_text("utf-8")


def test_the_script_asks_for_nothing_from_anywhere():
    text = bundle("model_diagram") + stylesheet()
    assert not re.search(
        r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|fetch\(|innerHTML", text
    )


def test_both_themes_have_the_same_colours():
    themes = json.loads((ASSETS / "constants.json").read_text("utf-8"))["themes"]
    assert themes["light"].keys() == themes["dark"].keys()
    used = set(re.findall(r"var\(--([\w-]+)\)", stylesheet()))
    assert used <= themes["light"].keys()


def test_what_a_lesson_stores_is_small():
    diagram = model_diagram(load_translator(), "Der Hund schläft im Garten, weil er müde ist.")
    data = diagram._repr_mimebundle_()
    assert diagram.target[1:4] == ["the", "dog", "sleeps"]
    assert sum(map(len, data.values())) <= 80_000
