import base64
import json
import re
import sys
import types
import zlib
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from PIL import Image

from course_lib.errors import CourseError
from course_lib.training import alignment_error_rate
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.explorer.explorer import explore_attention
from course_lib.viz.explorer.explorer_constants import ASSETS, KINDS, MEAN, START
from course_lib.viz.explorer.explorer_data import AttentionKind
from course_lib.viz.explorer.explorer_live import MODULE, STYLESHEET
from course_lib.viz.explorer.explorer_pack import pack
from course_lib.viz.figure_html import data_uri, figure_html
from course_lib.viz.web.live_html import page
from course_lib.widget_output import WIDGET_VIEW

# The script computes the rate once more: tests/js/data.test.js has the same cases.
CASES = Path(__file__).parents[2] / "js" / "alignment_cases.json"
ALIGNMENTS = json.loads(CASES.read_text("utf-8"))

QUERIES = ["the", "dog"]
KEYS = ["der", "Hund", "."]


def one_cell():
    """Two layers of two heads that attend to ".", but for one: there "dog" attends to "Hund"."""
    weights = torch.zeros(2, 2, 2, 3)
    weights[..., 2] = 1
    weights[1, 0, 1] = torch.tensor([0.0, 1.0, 0.0])
    return weights


def explorer(**given):
    return explore_attention(one_cell(), QUERIES, KEYS, **given)


def random_attention(layers=2, heads=3, queries=5, keys=5, mask=None, seed=0):
    """Scores and the weights that they lead to with d_head = 16."""
    generator = torch.Generator().manual_seed(seed)
    scores = 4 * torch.randn(layers, heads, queries, keys, generator=generator)
    scaled = scores / 4
    if mask is not None:
        scaled = scaled.masked_fill(~mask, -torch.inf)
    return scores, scaled.softmax(-1).nan_to_num(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["explorer.css", "drawing/colour.js"])
def test_its_colours_are_those_of_all_drawings(name, theme):
    text = (ASSETS / name).read_text("utf-8")
    parts = text.partition('[data-theme="dark"]' if name.endswith("css") else "dark: {")
    text = parts[0] if theme == "light" else parts[2].partition("}")[0]
    found = dict(re.findall(r"(\w+): \"?(#\w{6})", text))
    own = {"back": "page", "edge": "hair", "line": "attention"}
    meanings = {each: own.get(each, each) for each in found if own.get(each, each) in COLOURS}
    assert {"ink", "soft", "accent", "line", "edge"} <= set(meanings)
    for variable, meaning in meanings.items():
        assert found[variable] == getattr(COLOURS[meaning], theme), variable


def test_no_letters_are_smaller_than_twelve_pixels():
    style = (ASSETS / "explorer.css").read_text("utf-8")
    sizes = re.findall(r"font(?:-size)?: (?:\d{3} )?([\d.]+)px", style)
    scripts = [path.read_text("utf-8") for path in (ASSETS / "drawing").glob("*.js")]
    sizes += re.findall(r"(?:\bsize:|\bLABEL =) ([\d.]+)", "".join(scripts))
    assert len(sizes) >= 5
    assert min(map(float, sizes)) >= 12


def test_one_lit_cell_is_named_in_row_and_column():
    weights = one_cell()
    weights[1, 0, 0] = torch.tensor([0.4, 0.3, 0.3])
    shown = explore_attention(weights, QUERIES, KEYS)
    assert "largest weight is 1.00: 'the' attends to '.'" in repr(shown)
    assert "largest weight is 1.00: 'dog' attends to 'Hund'" in repr(shown.select(layer=1, head=0))


def test_the_mean_of_heads_is_their_mean():
    weights = one_cell()
    weights[0, 1] = torch.tensor([1.0, 0.0, 0.0])
    shown = explore_attention(weights, QUERIES, KEYS).select(head=MEAN)
    assert "mean of heads" in repr(shown)
    assert "largest weight is 0.50: 'the' attends to 'der'" in repr(shown)


def test_the_words_give_the_entropy_of_every_head():
    even = torch.full((1, 2, 2, 3), 1 / 3)
    even[0, 1] = torch.eye(3)[:2]
    text = repr(explore_attention(even, QUERIES, KEYS))
    assert "layer 0: 1.10 0.00" in text
    assert "at most 1.10" in text


def test_the_words_say_how_many_cells_are_masked():
    mask = torch.tensor([[True, True, False]])
    weights = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]])
    text = repr(explore_attention(weights, QUERIES, KEYS, mask=mask))
    assert "2 of 6 cells are masked" in text


def test_alignment_errors_are_those_of_training():
    _, weights = random_attention(queries=6, keys=8)
    gold = [(2, 0), (3, 1), (4, 1), (7, 5)]
    data = explore_attention(weights, list("abcdef"), list("stuvwxyz"), gold=gold).data
    for layer in range(2):
        for head in range(3):
            links = {(int(weights[layer, head, q].argmax()), q) for q in (0, 1, 5)}
            expected = alignment_error_rate(links, gold)
            assert data.alignment_errors[layer, head] == pytest.approx(expected)


@pytest.mark.parametrize("case", ALIGNMENTS, ids=lambda case: case["what"])
def test_alignment_errors_are_those_of_the_script(case):
    weights, gold = torch.tensor(case["weights"]), [(key, query) for key, query in case["gold"]]
    shown = explore_attention(weights, QUERIES, KEYS, gold=gold)
    assert shown.data.alignment_errors.item() == pytest.approx(case["rate"])


def test_the_words_name_the_head_that_is_closest_to_gold():
    text = repr(explorer(gold=[(1, 1)]))
    assert "layer 1, head 0, alignment error rate 0.00" in text
    assert "gold" not in repr(explorer())


@pytest.mark.parametrize("shape", [(2, 2, 2, 3), (2, 2, 3), (2, 3)])
def test_missing_axes_are_one_layer_and_one_head(shape):
    weights = torch.zeros(shape)
    weights[..., 0] = 1
    assert explore_attention(weights, QUERIES, KEYS).data.weights.shape[-2:] == (2, 3)
    assert explore_attention(weights, QUERIES, KEYS).data.weights.ndim == 4


def test_a_batch_left_in_front_is_refused():
    with pytest.raises(CourseError, match=r"got \(1, 2, 2, 2, 3\): is a batch dimension left"):
        explore_attention(one_cell()[None], QUERIES, KEYS)


def test_attention_that_lies_on_its_side_is_refused():
    with pytest.raises(ValueError, match=r"got \(3, 2\): are they transposed"):
        explore_attention(one_cell().transpose(-2, -1), QUERIES, KEYS)
    turned = torch.tensor([[0.9, 0.3], [0.1, 0.7]])
    with pytest.raises(ValueError, match="each column does: are they transposed"):
        explore_attention(turned, QUERIES)


def test_no_tokens_are_refused():
    with pytest.raises(CourseError, match="at least one token on both sides, got 0 queries"):
        explore_attention(torch.zeros(1, 0, 3), [], KEYS)


def test_scores_given_as_weights_are_refused():
    with pytest.raises(CourseError, match="between 0 and 1, got numbers from -1 to 2: are these"):
        explore_attention(torch.tensor([[2.0, -1.0], [0.0, 1.0]]), QUERIES)
    with pytest.raises(CourseError, match="between 0 and 1, got numbers from nan"):
        explore_attention(torch.full((2, 2), torch.nan), QUERIES)


def test_an_unknown_kind_is_refused(own_messages):
    with pytest.raises(CourseError, match="one of self, causal, cross, got 'both'"):
        explorer(kind="both")


def test_self_attention_between_sides_of_different_length_is_refused():
    with pytest.raises(CourseError, match="2 queries and 3 keys: is it kind='cross'"):
        explorer(kind="self")


def test_a_causal_head_that_attends_to_the_future_is_refused():
    weights = torch.tensor([[0.75, 0.25], [0.5, 0.5]])
    with pytest.raises(CourseError, match="'the' attends to 'dog' with 0.2500"):
        explore_attention(weights, QUERIES, kind="causal")


def test_weight_where_the_mask_hides_is_refused():
    mask = torch.tensor([True, True, False])
    with pytest.raises(CourseError, match=r"'the' attends to '\.' with 1.0000: does the mask"):
        explorer(mask=mask)


def test_a_mask_of_numbers_or_of_another_shape_is_refused():
    with pytest.raises(TypeError, match="True = may attend, got float32"):
        explorer(mask=torch.ones(2, 3))
    with pytest.raises(ValueError, match="does it still have a batch dimension"):
        explorer(mask=torch.ones(4, 1, 2, 3, dtype=torch.bool))


def test_scores_of_another_shape_are_refused():
    with pytest.raises(CourseError, match=r"the attention, \(2, 2, 2, 3\), got \(2, 3\)"):
        explorer(scores=torch.zeros(2, 3), d_head=4)


def test_scores_without_d_head_are_refused():
    scores, weights = random_attention()
    with pytest.raises(CourseError, match="scores need d_head"):
        explore_attention(weights, list("abcde"), scores=scores)


def test_scores_that_were_masked_or_scaled_already_are_refused():
    scores, weights = random_attention()
    given = {"attention": weights, "query_tokens": list("abcde"), "d_head": 16}
    with pytest.raises(CourseError, match="must be finite"):
        explore_attention(**given, scores=scores.masked_fill(scores > 1, -torch.inf))
    with pytest.raises(CourseError, match=r"softmax\(scores / √16\).* were the scores scaled"):
        explore_attention(**given, scores=scores / 4)


def test_queries_and_keys_stand_in_for_scores():
    queries, keys = torch.randn(2, 1, 2, 3, 5, generator=torch.Generator().manual_seed(0))
    weights = (queries @ keys.mT / 5**0.5).softmax(-1)
    data = explore_attention(weights, list("abc"), queries=queries, keys=keys).data
    assert data.d_head == 5
    assert np.abs(data.scores - (queries @ keys.mT).numpy()).max() < 1e-6
    same = explore_attention(weights[0], list("abc"), queries=queries[0], keys=keys[0]).data
    assert same.queries.shape == (1, 2, 3, 5)


def test_queries_without_keys_or_beside_scores_are_refused():
    scores, weights = random_attention()
    vectors = torch.zeros(2, 3, 5, 16)
    for given in ({"queries": vectors}, {"queries": vectors, "keys": vectors, "scores": scores}):
        with pytest.raises(CourseError, match="give one of the two pairs"):
            explore_attention(weights, list("abcde"), **given)


def test_queries_and_keys_of_another_attention_are_refused():
    _, weights = random_attention()
    right, wrong = torch.zeros(2, 3, 5, 16), torch.zeros(2, 3, 5, 8)
    with pytest.raises(CourseError, match=r"keys must have .*\(2, 3, 5, 16\), got \(2, 3, 5, 8\)"):
        explore_attention(weights, list("abcde"), queries=right, keys=wrong)
    with pytest.raises(CourseError, match=r"queries must have .* got \(5, 16\): do they belong"):
        explore_attention(weights, list("abcde"), queries=right[0, 0], keys=right)
    with pytest.raises(CourseError, match="were the scores scaled already, or is the mask"):
        explore_attention(weights, list("abcde"), queries=right, keys=right)


def test_gold_links_turned_around_or_shifted_are_refused():
    with pytest.raises(
        CourseError, match=r"3 keys and 2 queries, got \(0, 2\): are the two swapped"
    ):
        explorer(gold=[(0, 2)])


def test_named_layers_and_heads_are_called_by_their_names():
    shown = explorer(layer_names=["with", "without"], gold=[(1, 1)]).select(layer=1)
    assert repr(shown).startswith("Attention, without, head 0. ")
    assert "Closest to the gold alignment: without, head 0, alignment" in repr(shown)
    assert "\nwith: " in repr(shown) and "layer" not in repr(shown)
    named = explore_attention(one_cell()[0], QUERIES, KEYS, head_names=["words", "positions"])
    assert repr(named.select(head=1)).startswith("Attention, positions. ")


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(CourseError, match="layer_names must name each of the 2 layers, got 1"):
        explorer(layer_names=["with"])
    with pytest.raises(CourseError, match="head_names must name each of the 2 heads, got 3"):
        explorer(head_names="abc")


def test_unknown_languages_are_refused(own_messages):
    for wrong in (("english", "dutch"), ("english",)):
        with pytest.raises(CourseError, match="each 'german' or 'english', got"):
            explorer(languages=wrong)


def test_what_is_chosen_is_the_state():
    shown = explorer().select(layer=1, view="lines", query=1)
    assert shown.state == START | {"kind": "cross", "layer": 1, "view": "lines", "query": 1}
    shown.state["layer"] = 0
    assert shown.state["layer"] == 1


def test_the_live_widget_and_python_share_the_state():
    shown = explorer().select(layer=1)
    assert shown.widget.state["layer"] == 1
    shown.widget.state = shown.widget.state | {"head": 1, "view": "grid"}  # as the browser does
    assert shown.state["head"] == 1
    shown.select(query=0)
    assert shown.widget.state["query"] == 0
    assert shown.widget.state["view"] == "grid"
    assert shown.widget.data == pack(shown.data)


def test_an_output_holds_widget_markup_picture_and_words():
    shown = explorer()
    data = shown._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {WIDGET_VIEW, "text/html", "text/plain"}
    assert data[WIDGET_VIEW]["model_id"] == shown.widget.model_id
    assert data["text/plain"] == repr(shown)
    assert data_uri(shown.to_png()) in data["text/html"]


def test_colab_gets_markup_and_no_widget(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    shown = explorer()
    assert set(shown._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert shown._widget is None


def test_the_same_explorer_gives_the_same_markup():
    assert explorer().to_html() == explorer().to_html()
    assert explorer().to_html() != explorer().select(layer=1).to_html()


def test_the_markup_begins_with_a_picture_that_has_words():
    markup = explorer(title='a <b> & "c"').to_html()
    alt = re.match(r'<div data-live="a\w+"><img alt="([^"]*)" src="data:image/webp', markup)[1]
    assert alt.startswith("a &lt;b&gt; &amp; &quot;c&quot;, layer 0, head 0. Heatmap of 2 queries")


def test_the_markup_holds_script_data_and_state():
    markup = explorer().select(head=1).to_html()
    code = json.loads(zlib.decompress(base64.b64decode(re.search(r'data-code="(.*?)"', markup)[1])))
    assert code["state"]["head"] == 1
    assert code["module"] == MODULE
    packed = base64.b64decode(re.search(r'data-packed="(.*?)"', markup)[1])
    assert packed == pack(explorer().data)


def test_the_script_asks_for_nothing_from_anywhere():
    text = MODULE + STYLESHEET
    assert not re.search(r"https?://|@import|url\(|fetch\(|innerHTML|XMLHttp", text)
    assert not re.search(r"\bimport\s*[\w{*\"']", MODULE)
    assert "</script" not in MODULE


def test_the_kinds_in_signatures_are_those_of_the_script():
    assert get_args(AttentionKind) == tuple(KINDS)


def test_a_stored_explorer_of_48_heads_and_20_tokens_stays_below_100_kb():
    _, weights = random_attention(6, 8, 20, 20)
    data = explore_attention(weights, [f"token{i}" for i in range(20)])._repr_mimebundle_()
    data.pop(WIDGET_VIEW)
    assert len(json.dumps(data)) < 100_000


def test_it_is_saved_as_a_page(tmp_path):
    shown = explorer(title="<Heads>")
    shown.save_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text == page(shown.to_html(), title="<Heads>")
    assert "<title>&lt;Heads&gt;</title>" in text
    assert shown.to_html() in text
    assert text.count("<h1>") == 1


def test_half_a_character_is_shown_as_one_that_is_lost(tmp_path):
    _, weights = random_attention(1, 1, 2, 2)
    shown = explore_attention(weights, ["a\ud800", "b"], title="\udc00", pad="\ud800")
    shown.save_html(tmp_path / "page.html")
    json.dumps(shown._repr_mimebundle_(), ensure_ascii=False).encode()
    assert shown.data.query_tokens == ("a\ufffd", "b")


def test_a_figure_whose_words_have_half_a_character_can_be_stored():
    assert figure_html(Image.new("L", (1, 1)), "a\ud800").encode().count("a\ufffd".encode()) == 2
