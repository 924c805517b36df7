"""The explorer of a model, as a page: tabs, heads as lines, and one cell number by number."""

import re

import numpy as np
import pytest
import torch

from course_lib.model import Transformer, preset, record_attention
from course_lib.viz import explore_attention, explore_model
from tests.browser.explorer import focus, layout, panel, pixels, point, state
from tests.browser.lab import serious_violations

SOURCE = ["der", "alte", "Hund", ",", "<pad>"]
WRITTEN = ["the", "old", "dog", "<eos>"]


@pytest.fixture(scope="module")
def recorded():
    """What an untrained model of two layers with four heads attends to."""
    torch.manual_seed(0)
    model = Transformer(preset("small")).eval()
    source = torch.tensor([[5, 6, 7, 8, model.config.pad_id]])
    with torch.no_grad(), record_attention(model) as record:
        model(source, torch.tensor([[1, 5, 6, 7]]))
    return record


@pytest.fixture
def explorer(recorded):
    def make(**given):
        return explore_model(recorded, WRITTEN, SOURCE, title="Model", **given)

    return make


def click(page, query, key):
    at = layout(page)
    point(page, at["left"] + (key + 0.5) * at["w"], at["top"] + (query + 0.5) * at["h"])
    page.mouse.down()
    page.mouse.up()


def inside(page):
    return page.inner_text(".ae-inside")


def test_tabs_show_encoder_decoder_and_cross_attention(open_explorer, explorer, recorded):
    page = open_explorer(explorer())
    names = page.locator("[role=tab]").all_inner_texts()
    assert names == ["Encoder", "Decoder", "Cross-attention"]
    for name, part, at in zip(names, ("encoder", "decoder", "cross"), (2, 0, 3), strict=True):
        page.click(f"[role=tab]:text-is('{name}')")
        assert page.get_attribute(f"[role=tab]:text-is('{name}')", "aria-selected") == "true"
        assert page.locator("[role=tab][aria-selected=true]").count() == 1
        weights = getattr(recorded, part)[0, 0, 0]
        assert (layout(page)["rows"], layout(page)["columns"]) == tuple(weights.shape)
        box = layout(page)
        point(page, box["left"] + (at + 0.5) * box["w"], box["top"] + 3.5 * box["h"])
        shown = float(page.inner_text(".ae-cell").rpartition(": ")[2])
        assert shown == pytest.approx(float(weights[3, at]), abs=6e-5)
    assert "“<eos>” attends to “,”" in panel(page)


def test_the_decoder_reads_bos_and_what_was_written_before(open_explorer, explorer):
    page = open_explorer(explorer().select(kind="causal"))
    at = layout(page)
    point(page, at["left"] + 0.5 * at["w"], at["top"] + 0.5 * at["h"])
    assert "“the” attends to “<bos>”: 1.0000" in panel(page)
    point(page, at["left"] + 3.5 * at["w"], at["top"] + 1.5 * at["h"])
    assert "“old” attends to “dog”: masked" in panel(page)


def test_tabs_are_changed_by_keys_and_release_what_was_locked(open_explorer, explorer):
    page = open_explorer(explorer().select(query=1, key=2, layer=1))
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "Decoder"
    assert (state(page)["kind"], state(page)["query"], state(page)["key"]) == ("causal", None, None)
    assert state(page)["layer"] == 1
    page.keyboard.press("End")
    assert state(page)["kind"] == "cross"
    page.keyboard.press("ArrowRight")
    assert state(page)["kind"] == "self"
    page.keyboard.press("Tab")  # to what the tab shows, not to the next tab
    assert page.evaluate("document.activeElement.getAttribute('role')") != "tab"


def test_one_kind_of_attention_has_no_tabs(open_explorer):
    page = open_explorer(explore_attention(torch.eye(3), list("abc")))
    assert page.locator("[role=tablist], [role=tabpanel]").count() == 0


def test_a_cell_opens_number_by_number(open_explorer, explorer, recorded):
    page = open_explorer(explorer(products=["cross"]).select(kind="cross", layer=1, head=3))
    click(page, 2, 1)
    assert (state(page)["query"], state(page)["key"]) == (2, 1)
    q = recorded.queries("cross")[1, 0, 3, 2].numpy()
    k = recorded.keys("cross")[1, 0, 3, 1].numpy()
    rows = page.eval_on_selector_all(
        ".ae-products tbody tr", "(rows) => rows.map((r) => [...r.cells].map((c) => c.innerText))"
    )
    assert [row[0] for row in rows[:3]] == ["query “dog”", "key “alte”", "product"]
    for row, expected in zip(rows[:3], (q, k, q * k), strict=True):
        shown = [float(text.replace("−", "-")) for text in row[1:]]
        assert np.abs(np.array(shown) - expected).max() < 0.0051
    steps = page.locator(".ae-steps b").all_inner_texts()
    score = float(q @ k)
    assert float(steps[0].replace("−", "-")) == pytest.approx(score, abs=3e-3)
    assert float(steps[1].replace("−", "-")) == pytest.approx(score / 32**0.5, abs=1e-3)
    assert steps[2] == steps[1]
    weight = float(recorded.cross[1, 0, 3, 2, 1])
    assert float(steps[3]) == pytest.approx(weight, abs=6e-5)
    left, right = re.search(r"= ([\d.]+) ÷ ([\d.]+)", inside(page)).groups()
    assert float(left) / float(right) == pytest.approx(weight, abs=2e-3)
    click(page, 2, 1)
    assert state(page)["query"] is None
    assert page.is_hidden(".ae-inside")


def test_a_masked_cell_says_why_its_weight_is_zero(open_explorer, explorer):
    page = open_explorer(explorer(products=["causal"]).select(kind="causal", query=0, key=2))
    steps = page.locator(".ae-steps b").all_inner_texts()
    assert steps[2:] == ["−∞", "0"]
    assert "may not attend" in inside(page)


def test_it_says_what_is_not_stored(open_explorer, explorer):
    page = open_explorer(explorer().select(query=0, key=1))
    assert "queries and keys are not stored here" in inside(page)
    assert page.locator(".ae-products").count() == 0
    page.check(".ae-controls:not([hidden]) .ae-mean")
    assert "mean of several weights" in inside(page)


def test_a_cell_is_opened_and_released_by_keys(open_explorer, explorer):
    page = open_explorer(explorer(products=["self"]))
    page.focus(".ae-stage")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert (state(page)["query"], state(page)["key"]) == (1, 1)
    status = page.inner_text(".ae-status")
    assert status.startswith("Locked. “alte” attends most to")
    assert "The sum of 32 products is" in status
    page.keyboard.press("Escape")
    assert (state(page)["query"], state(page)["key"]) == (None, None)


def test_column_tokens_answer_to_the_pointer_and_to_keys(open_explorer, explorer):
    page = open_explorer(explorer())
    at = layout(page)
    point(page, at["left"] + 2.5 * at["w"], at["top"] - 8)
    assert focus(page) == {"key": 2}
    assert "“Hund” is attended to by" in panel(page)
    page.mouse.move(2, 2)
    page.focus(".ae-stage")
    for key in ("ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert focus(page) == {"key": 1}
    assert page.inner_text(".ae-status").startswith("“alte” is attended to most by")
    for key in ("ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    assert focus(page) == {"query": 0}
    page.keyboard.press("ArrowUp")  # there is nothing in the corner
    assert focus(page) == {"query": 0}


COLOURS = [(0x11, 0x66, 0xAA), (0xEE, 0x66, 0x22), (0x55, 0x22, 0x55)]  # of heads 0, 1 and 2


def heads_in_the_picture(page):
    """The heads in whose colour there are lines, not counting where lines cross."""
    image = pixels(page)
    strong = image[image[..., 3] > 230][:, :3]
    return [i for i, colour in enumerate(COLOURS) if (abs(strong - colour).max(-1) < 4).sum() > 200]


def test_several_heads_are_lines_of_several_colours(open_explorer):
    weights = torch.stack([torch.eye(4).roll(head, 1) for head in range(3)])
    page = open_explorer(explore_attention(weights, list("abcd")).select(view="lines", head=1))
    assert heads_in_the_picture(page) == []  # one head is drawn in the colour of the page
    chips = page.locator(".ae-heads input")
    assert [chip.is_checked() for chip in chips.all()] == [False, True, False]
    chips.nth(2).check()
    assert state(page)["heads"] == [1, 2]
    assert heads_in_the_picture(page) == [1, 2]
    assert "head 1" in page.inner_text(".ae-legend")
    at = layout(page)
    point(page, at["x0"] - 10, at["y0"] + 0.5 * at["pitch"])
    assert re.search(r"“a” attends most to\s+1\s+b\s+1.0000\s+2\s+c\s+1.0000", panel(page))
    page.click(".ae-heads .ae-all")
    assert state(page)["heads"] == heads_in_the_picture(page) == [0, 1, 2]
    page.focus(".ae-head")
    page.keyboard.press("ArrowRight")  # one head again
    assert (state(page)["head"], state(page)["heads"]) == (2, [])


def test_heads_are_compared_by_keys_and_one_of_them_shown_alone(open_explorer):
    weights = torch.stack([torch.eye(4).roll(head, 1) for head in range(3)])
    shown = explore_attention(weights, list("abcd")).select(view="lines", heads=[0, 1, 2])
    page = open_explorer(shown)
    chips = page.locator(".ae-heads input")
    chips.nth(1).focus()
    assert focus(page) == {"layer": 0, "head": 1}
    assert "head 1" in panel(page)
    page.keyboard.press("Space")
    assert state(page)["heads"] == [0, 2]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert (state(page)["head"], state(page)["heads"]) == (0, [])
    chips.nth(0).focus()
    page.keyboard.press("Space")  # the last one stays
    assert chips.nth(0).is_checked()


def test_layers_of_the_grid_are_chosen(open_explorer, explorer):
    page = open_explorer(explorer().select(view="grid"))
    assert {small["layer"] for small in layout(page)["thumbnails"]} == {0, 1}
    page.locator(".ae-controls:not([hidden]) .ae-layers input").nth(0).uncheck()
    assert {small["layer"] for small in layout(page)["thumbnails"]} == {1}
    page.click(".ae-controls:not([hidden]) .ae-layers .ae-all")
    assert state(page)["layers"] == []


def test_the_saved_page_has_all_tabs(open_explorer, open_page, explorer, tmp_path):
    page = open_explorer(explorer().select(kind="cross", view="lines", heads=[0, 2]))
    with page.expect_download() as download:
        page.click("text=Save HTML")
    saved = tmp_path / "saved.html"
    download.value.save_as(saved)
    copy = open_page(saved.as_uri())
    copy.wait_for_selector(".ae[data-state]", state="attached")
    assert state(copy) == state(page)
    copy.click("[role=tab]:text-is('Encoder')")
    assert layout(copy)["x0"] and "Model, self-attention" in copy.text_content(".ae-title")


@pytest.mark.parametrize("width", [1280, 390, 360])
def test_nothing_is_wider_than_the_page(open_explorer, explorer, width):
    shown = explorer(products=["cross"]).select(kind="cross", query=0, key=0)
    page = open_explorer(shown, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.check(".ae-segments input[value=lines] >> visible=true", force=True)
    page.click(".ae-heads .ae-all >> visible=true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", ["heatmap", "lines", "grid"])
def test_axe_finds_nothing_serious_in_tabs_toggles_and_an_opened_cell(
    open_explorer, axe, explorer, view, dark
):
    shown = explorer(products=["cross"]).select(kind="cross", view=view, query=0, key=0)
    if view == "lines":
        shown.select(heads=[0, 1, 3])
    assert serious_violations(open_explorer(shown, dark=dark), axe) == {}
