import re
from html import unescape
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.model import KeyValueCache, Transformer, TransformerConfig
from course_lib.viz.drawings.attention.cache_steps import LOOKS, ROW, ROWS_AT, draw_cache_steps
from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Buildup, Panel
from course_lib.viz.drawings.marks import text_width

SVG = "{http://www.w3.org/2000/svg}"
WORDS = "<bos> the dog sleeps in the garden because it is tired .".split()
ALL, ONE = list(range(1, 13)), [1] * 12


def draw(words=WORDS, without=ALL, cached=ONE, *, n_layers=2, d_model=128):
    return draw_cache_steps(words, without, cached, n_layers=n_layers, d_model=d_model)


def drawn(panel, look):
    """How many keys and values in the rows look like this."""
    colour, share = LOOKS[look]
    rows = "".join(re.findall(r'<g data-from="\d+">(.*?)</g>', panel.body))
    paths = re.findall(r'<path d="([^"]*)" fill="([^"]*)" fill-opacity="([^"]*)"', rows)
    return sum(d.count("M") for d, *paint in paths if paint == [ink(colour), f"{share:g}"])


def written(panel):
    return [unescape(words) for words in re.findall(r"<text[^>]*>([^<]*)</text>", panel.body)]


def test_as_many_keys_and_values_are_drawn_as_were_computed_and_kept():
    without, cached = draw().panels
    assert [drawn(without, look) for look in LOOKS] == [2 * 12, 2 * 66, 0]
    assert [drawn(cached, look) for look in LOOKS] == [2 * 12, 0, 2 * 66]


def test_a_row_says_how_many_numbers_its_step_computes_and_how_many_are_kept():
    rows = [re.findall(r'<g data-from="\d+">(.*?)</g>', panel.body) for panel in draw().panels]
    assert len(rows[0]) == len(rows[1]) == 12
    for step, (without, cached) in enumerate(zip(*rows, strict=True), 1):
        assert re.findall(r">([\d,]+)<", without) == [f"{512 * step:,}"]
        assert sorted(re.findall(r">([\d,]+)<", cached)) == sorted(["512", f"{512 * step:,}"])


def test_what_is_computed_and_kept_is_the_number_of_cells_times_the_numbers_of_a_cell():
    without, cached = (written(panel) for panel in draw(n_layers=3, d_model=8).panels)
    assert "3 layers × (8 + 8) = 48" in without and "3 layers × (8 + 8) = 48" in cached
    assert "78 × 48 = 3,744 numbers" in without and "0 numbers" in without
    assert cached.count("12 × 48 = 576 numbers") == 2  # computed, and kept


def test_the_counts_and_the_memory_are_those_of_a_real_model():
    config = TransformerConfig(
        source_vocab=9, target_vocab=9, d_model=8, d_ff=8, n_heads=2, n_layers=3
    )
    model = Transformer(config).eval()
    kept = KeyValueCache(3)
    rows = {"without": [], "cached": []}
    source, target = torch.tensor([[4, 5]]), torch.tensor([[1, 6, 7, 8]])
    with torch.no_grad():
        memory = model.encode(source)
        for name, cache in (("without", None), ("cached", kept)):
            hook = model.decoder.layers[0].self_attention.k_proj.register_forward_hook(
                lambda module, given, out, name=name: rows[name].append(out.size(1))
            )
            for step in range(1, 5):
                new = target[:, :step] if cache is None else target[:, step - 1 : step]
                model.decode(new, memory, source, cache=cache)
            hook.remove()
    film = draw(WORDS[:4], rows["without"], rows["cached"], n_layers=3, d_model=8)
    stored = sum(each.keys.numel() + each.values.numel() for each in kept.self_attention)
    assert film.says[-1] == (
        "Up to step 4, “sleeps”: 480 numbers computed without a cache, 192 with one, which keeps "
        f"{stored}."
    )
    assert written(film.panels[1]).count(f"4 × 48 = {stored} numbers") == 2  # computed, and kept


def test_a_step_with_a_cache_may_compute_several_tokens():
    cached = draw(WORDS[:4], ALL[:4], [1, 2, 1, 1]).panels[1]
    assert [drawn(cached, look) for look in LOOKS] == [2 * 4, 2 * 1, 2 * 5]


def test_each_state_shows_its_own_sums():
    film = draw()
    assert film.says[2].startswith("Up to step 3, “dog”: 3,072 numbers computed without a cache")
    for state in range(12):
        (sums,) = re.findall(
            rf'<g[^>]*data-from="{state}" data-to="{state}">(.*?)</g>', film.panels[0].body
        )
        cells = sum(ALL[: state + 1])
        assert f">{cells} × 512 = {cells * 512:,} numbers<" in sums


def test_without_a_script_the_last_state_is_shown():
    body = draw().panels[0].body
    shown = re.findall(r"<g data-from=\"\d+\" data-to=\"\d+\"><text[^>]*>([^<]*)<", body)
    assert shown == ["78 × 512 = 39,936 numbers"]
    assert body.count('class="off"') == 11


def test_all_states_are_stored_once():
    assert draw().to_html().count("<img") == 2
    assert len(draw().to_html()) < 60_000


@pytest.mark.parametrize(("n_layers", "d_model"), [(2, 128), (6, 512)])
def test_words_and_cells_lie_inside_the_panel_and_apart(n_layers, d_model):
    words = ["Donaudampf", *WORDS[1:]]
    for panel in draw(words, n_layers=n_layers, d_model=d_model).panels:
        spans = []
        for text in ElementTree.fromstring(panel.svg()).iter(f"{SVG}text"):
            classes = text.get("class") or ""
            size = 12 if "aside" in classes else 14
            width = text_width(text.text, size, bold="bold" in classes)
            shift = {"middle": width / 2, "end": width}.get(text.get("text-anchor"), 0)
            start = float(text.get("x")) - shift
            assert start >= 0 and start + width <= WIDTH, text.text
            spans.append((float(text.get("y")), start, start + width))
        last_row = ROWS_AT + 11.5 * ROW + 4.6
        numbers = sorted(span[1:] for span in spans if abs(span[0] - last_row) < 1)[1:]
        right = max(float(x) for x in re.findall(r"M([\d.]+) [\d.]+h\d", panel.body)) + 20
        for start, end in numbers:
            assert right <= start
            right = end + 4


@pytest.mark.parametrize(
    ("without", "cached"), [(ALL, ONE[:-1]), ([2, *ALL[1:]], ONE), (ALL, [0, *ONE[1:]])]
)
def test_counts_that_no_step_can_have_are_refused(without, cached):
    with pytest.raises(ValueError, match="expected for each of 12 words a count"):
        draw(without=without, cached=cached)


def test_more_words_than_there_is_room_for_are_refused():
    n = 40
    with pytest.raises(ValueError, match="40 words, .* have no room in a panel of 340 pixels"):
        draw(["word"] * n, list(range(1, n + 1)), [1] * n)


def test_what_builds_up_has_two_states():
    panel = Panel(title="one", description="two", body="", height=10)
    with pytest.raises(CourseError, match="at least two states, got 1"):
        Buildup(panel, says=["only"])


def test_the_script_is_told_what_each_state_says_and_to_begin_with_the_last():
    html = unquote(unescape(draw().to_html()))
    assert 'data-start="11"' in html
    assert "Up to step 1, “<bos>”: 512 numbers" in html
    assert "Up to step 12, “.”: 39,936 numbers" in repr(draw())
