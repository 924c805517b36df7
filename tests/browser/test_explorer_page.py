"""The explorer as a page of its own, without a kernel and without a network."""

import re
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from course_lib.training import alignment_error_rate
from course_lib.viz.explorer.explorer import explore_attention
from course_lib.viz.explorer.explorer_constants import VIEWS
from tests.browser.explorer import choose_view, focus, layout, panel, pixels, point, state
from tests.browser.lab import serious_violations

QUERIES = ["the", "old", "dog", "<eos>"]
KEYS = ["der", "alte", "Hund", ".", "<pad>"]
MASK = torch.tensor([True, True, True, True, False])


def one_cell():
    """Two layers of three heads that attend to "der", but for one: there "dog" attends to "."."""
    weights = torch.zeros(2, 3, 4, 5)
    weights[..., 0] = 1
    weights[1, 2, 2] = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0])
    return weights


def lit(**given):
    return explore_attention(one_cell(), QUERIES, KEYS, mask=MASK, title="By hand", **given)


def synthetic(layers, heads, queries, keys, *, mask=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    scores = 6 * torch.randn(layers, heads, queries, keys, generator=generator)
    scaled = scores / 4
    if mask is not None:
        scaled = scaled.masked_fill(~mask, -torch.inf)
    return scores, scaled.softmax(-1).nan_to_num(0)


def causal():
    """Subwords with padding, causal, with their scores."""
    tokens = ["▁ein", "▁Don", "au", "dampf", "<eos>", "<pad>"]
    mask = torch.tensor([token != "<pad>" for token in tokens])
    scores, weights = synthetic(2, 3, 6, 6, mask=mask & torch.ones(6, 6).tril().bool())
    given = {"kind": "causal", "scores": scores, "d_head": 16, "mask": mask}
    return explore_attention(weights, tokens, title="Subwords", **given), scores, weights


def test_one_lit_cell_is_dark_in_its_row_and_column_of_the_heatmap(open_explorer):
    page = open_explorer(lit().select(layer=1, head=2))
    at, image = layout(page), pixels(page)
    for query in range(4):
        for key in range(4):
            x = int(at["left"] + (key + 0.12) * at["w"])
            y = int(at["top"] + (query + 0.12) * at["h"])
            dark = image[y, x, :3].mean() < 80
            assert dark == ((query, key) == (2, 3) or (key == 0 and query != 2)), (query, key)
            point(page, x, y)
            assert focus(page) == {"query": query, "key": key}
            weight = "1.0000" if dark else "0.0000"
            assert f"“{QUERIES[query]}” attends to “{KEYS[key]}”: {weight}" in panel(page)


def test_masked_cells_show_the_hatching_and_are_called_masked(open_explorer):
    page = open_explorer(lit())
    at = layout(page)
    x, y = at["left"] + 4.5 * at["w"], at["top"] + 1.5 * at["h"]
    assert pixels(page)[int(y), int(x), 3] == 0
    point(page, x, y)
    assert "“old” attends to “<pad>”: masked (padding)" in panel(page)
    assert "masked" in page.inner_text(".ae-legend")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_numbers_in_the_faded_rows_of_padding_can_be_read(open_explorer, dark):
    """A pad that attends with 0.9: its cell is faded, so its number is not that of a full one."""
    weights = torch.tensor([[1.0, 0.0], [0.9, 0.1]])
    page = open_explorer(explore_attention(weights, ["a", "<pad>"]), dark=dark)
    at, image = layout(page), pixels(page)
    y, x = at["top"] + at["h"], at["left"]
    cell = image[int(y) + 1 : int(y + at["h"]) - 1, int(x) + 1 : int(x + at["w"]) - 1, :3].mean(-1)
    background = np.median(cell)
    number = cell.max() if dark else cell.min()
    assert abs(number - background) > 100
    assert abs((cell.min() if dark else cell.max()) - background) < 20


def test_what_is_hidden_is_hatched_alike_in_every_row(open_explorer):
    weights, mask = torch.tensor([[1.0, 0.0], [1.0, 0.0]]), torch.tensor([True, False])
    page = open_explorer(explore_attention(weights, ["a", "<pad>"], mask=mask))
    at, image = layout(page), pixels(page)
    for query in range(2):
        y, x = int(at["top"] + (query + 0.5) * at["h"]), int(at["left"] + 1.5 * at["w"])
        assert image[y, x, 3] == 0  # nothing is drawn over the hatching


def test_versions_are_shown_side_by_side_by_name(open_explorer):
    page = open_explorer(lit(layer_names=["with", "without"]).select(view="grid", layer=1))
    assert page.get_by_role("radio", name="All versions").is_checked()
    assert page.locator(".ae-versions .ae-chip").all_inner_texts() == ["with", "without"]
    assert page.locator(".ae-layer + output").inner_text() == "without"
    assert "without, head 0" in panel(page)
    assert len({small["y"] for small in layout(page)["thumbnails"]}) == 2


def test_one_lit_cell_is_one_line_from_its_query_to_its_key(open_explorer):
    page = open_explorer(lit().select(layer=1, head=2, view="lines"))
    at, image = layout(page), pixels(page)

    def ink(x, y):
        return image[int(y) - 2 : int(y) + 3, int(x), 3].max() > 200

    right = [ink(at["x1"] - 3, at["y1"] + (key + 0.5) * at["pitch"]) for key in range(4)]
    assert right == [True, False, False, True]
    middle = at["y0"] + 2.5 * at["pitch"], at["y1"] + 3.5 * at["pitch"]
    assert ink((at["x0"] + at["x1"]) / 2, sum(middle) / 2)
    point(page, at["x0"] - 20, middle[0])
    assert focus(page) == {"query": 2}
    assert re.search(r"“dog” attends to\s+“\.”\s+1.0000", panel(page))
    point(page, at["x1"] + 15, middle[1])
    assert focus(page) == {"key": 3}
    assert re.search(r"“.” is attended to by\s+dog\s+1.0000", panel(page))


@pytest.mark.parametrize("view", ["heads", "grid"])
def test_one_lit_cell_is_dark_in_its_head_and_nowhere_else(open_explorer, view):
    page = open_explorer(lit().select(layer=1, view=view))
    at, image = layout(page), pixels(page)
    found = set()
    for small in at["thumbnails"]:
        x, y = small["x"] + at["w"] * 3.5 / 5, small["y"] + at["h"] * 2.5 / 4
        if image[int(y), int(x), :3].mean() < 80:
            found.add((small["layer"], small["head"]))
            point(page, x, y)
            assert focus(page) == {"layer": 1, "head": 2, "query": 2, "key": 3}
            assert "“dog” attends to “.”: 1.0000" in panel(page)
    assert found == {(1, 2)}


def test_a_click_on_a_small_head_opens_it(open_explorer):
    page = open_explorer(lit().select(view="grid"))
    small = next(t for t in layout(page)["thumbnails"] if (t["layer"], t["head"]) == (1, 2))
    point(page, small["x"] + 5, small["y"] + 5)
    page.mouse.down()
    page.mouse.up()
    shown = state(page)
    assert (shown["view"], shown["layer"], shown["head"]) == ("heatmap", 1, 2)


def test_sliders_answer_to_arrow_keys_and_the_mean_of_heads_to_space(open_explorer):
    page = open_explorer(lit())
    page.focus(".ae-layer")
    page.keyboard.press("ArrowRight")
    page.focus(".ae-head")
    page.keyboard.press("End")
    assert (state(page)["layer"], state(page)["head"]) == (1, 2)
    assert page.inner_text(".ae-title") == "layer 1, head 2"  # the page has the title above
    page.focus(".ae-mean")
    page.keyboard.press("Space")
    assert state(page)["head"] == -1
    at = layout(page)
    point(page, at["left"] + 3.5 * at["w"], at["top"] + 2.5 * at["h"])
    assert "“dog” attends to “.”: 0.3333" in panel(page)
    page.keyboard.press("Space")
    assert state(page)["head"] == 2


def test_everything_on_the_stage_is_reached_by_keys(open_explorer):
    page = open_explorer(lit().select(layer=1, head=2))
    page.focus(".ae-stage")
    page.keyboard.press("ArrowDown")  # shows the current cell
    assert focus(page) == {"query": 0, "key": 0}
    for key in ("ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
    assert focus(page) == {"query": 2, "key": 4}
    page.keyboard.press("ArrowLeft")
    status = page.inner_text(".ae-status")
    assert status.startswith("“dog” attends to “.”: 1.0000. “dog” attends most to: “.” 1.0000")
    page.keyboard.press("Enter")
    assert state(page)["query"] == 2
    assert page.inner_text(".ae-status").startswith("Locked. “dog” attends most to")
    page.keyboard.press("PageUp")
    assert (state(page)["head"], state(page)["query"]) == (1, 2)
    page.keyboard.press("Shift+PageUp")
    assert state(page)["layer"] == 0
    page.keyboard.press("Escape")
    assert state(page)["query"] is None
    page.check(".ae-segments input[value=grid]", force=True)
    page.focus(".ae-stage")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert (state(page)["layer"], state(page)["head"]) == (1, -1)
    page.keyboard.press("Enter")
    assert state(page)["view"] == "heatmap"


def test_a_click_locks_a_row_and_a_second_one_releases_it(open_explorer):
    page = open_explorer(lit())
    at = layout(page)
    x, y = at["left"] + 1.5 * at["w"], at["top"] + 2.5 * at["h"]
    for locked in (2, None):
        point(page, x, y)
        page.mouse.down()
        page.mouse.up()
        assert state(page)["query"] == locked
    page.mouse.click(2, 2)
    page.focus(".ae-stage")
    page.keyboard.press("Enter")
    assert "“the” is locked" in panel(page)
    page.click("text=Release the row")
    assert state(page)["query"] is None


def test_the_steps_lead_from_scores_to_weights(open_explorer):
    shown, scores, weights = causal()
    page = open_explorer(shown)
    at = layout(page)
    read = {}
    for step in ("query · key", "÷ √d", "mask", "softmax"):
        page.click(f".ae-segments span:text-is('{step}')")
        for query, key in ((3, 1), (1, 3)):
            point(page, at["left"] + (key + 0.5) * at["w"], at["top"] + (query + 0.5) * at["h"])
            number = page.inner_text(".ae-cell").rpartition(": ")[2]
            assert "-" not in number
            read[step, query, key] = number.replace("−", "-")
    raw = scores[0, 0]
    assert float(read["query · key", 3, 1]) == pytest.approx(float(raw[3, 1]), abs=2e-3)
    assert float(read["query · key", 1, 3]) == pytest.approx(float(raw[1, 3]), abs=2e-3)
    assert float(read["÷ √d", 3, 1]) == pytest.approx(float(raw[3, 1]) / 4, abs=1e-3)
    assert read["mask", 3, 1] == read["÷ √d", 3, 1]
    assert read["mask", 1, 3] == read["softmax", 1, 3] == "masked"
    assert float(read["softmax", 3, 1]) == pytest.approx(float(weights[0, 0, 3, 1]), abs=6e-5)


def test_subwords_are_joined_and_split_again(open_explorer):
    shown, _, weights = causal()
    page = open_explorer(shown)
    page.check(".ae-joined")
    at = layout(page)
    assert (at["rows"], at["columns"]) == (4, 4)
    point(page, at["left"] + 1.5 * at["w"], at["top"] + 2.5 * at["h"])
    expected = float(weights[0, 0, 4, 1:4].sum())
    assert f"“<eos>” attends to “Donaudampf”: {expected:.4f}"[:-1] in panel(page)
    point(page, at["left"] + 0.5 * at["w"], at["top"] + 1.5 * at["h"])
    read = float(page.inner_text(".ae-cell").rpartition(": ")[2])
    assert read == pytest.approx(float(weights[0, 0, 1:4, 0].mean()), abs=6e-5)
    assert page.is_disabled(".ae-segments input[value=scores]")
    page.uncheck(".ae-joined")
    assert layout(page)["rows"] == 6


def test_gold_links_and_the_error_rate_are_those_of_python(open_explorer):
    _, weights = synthetic(2, 3, 4, 5)
    gold = [(0, 0), (2, 1), (2, 2), (4, 2)]
    page = open_explorer(explore_attention(weights, QUERIES, KEYS, gold=gold).select(layer=1))
    links = {(int(weights[1, 0, q].argmax()), q) for q in range(3)}
    rate = alignment_error_rate(links, gold)
    assert f"alignment error rate {rate:.2f}" in panel(page)
    assert "gold link" in page.inner_text(".ae-legend")
    with_rings = pixels(page)
    page.uncheck(".ae-gold")
    assert "alignment" not in panel(page)
    changed = np.abs(pixels(page) - with_rings).sum(axis=-1) > 0
    at = layout(page)
    rows, columns = np.nonzero(changed)
    cells = set(zip((rows - at["top"]) // at["h"], (columns - at["left"]) // at["w"], strict=True))
    assert cells == {(q, k) for k, q in set(gold) | links}
    x, y = columns - at["left"], rows - at["top"]
    inside_x, inside_y = x % at["w"] / at["w"] - 0.5, y % at["h"] / at["h"] - 0.5
    assert (np.maximum(abs(inside_x), abs(inside_y)) > 0.2).all()  # where no number is


def test_the_top_three_keys_are_in_order_and_exact(open_explorer):
    _, weights = synthetic(1, 1, 4, 5)
    page = open_explorer(explore_attention(weights, QUERIES, KEYS))
    at = layout(page)
    point(page, at["left"] - 20, at["top"] + 1.5 * at["h"])
    values, keys = weights[0, 0, 1].topk(3)
    shown = page.eval_on_selector_all(
        ".ae-bar", "(rows) => rows.map((r) => r.innerText.split(/\\s+/))"
    )
    assert [name.strip("“”") for name, _ in shown] == [KEYS[k] for k in keys.tolist()]
    for (_, number), value in zip(shown, values.tolist(), strict=True):
        assert float(number) == pytest.approx(value, abs=6e-5)


def test_a_dark_page_makes_it_dark_and_colours_can_be_chosen(open_explorer):
    page = open_explorer(lit(), dark=True)
    assert page.get_attribute(".ae", "data-theme") == "dark"
    at, image = layout(page), pixels(page)
    x, y = int(at["left"] + 1.5 * at["w"]), int(at["top"] + 1.1 * at["h"])
    assert image[y, x, :3].mean() < 40  # a weight of zero
    page.emulate_media(color_scheme="light")
    page.wait_for_selector(".ae[data-theme=light]")
    assert pixels(page)[y, x, :3].mean() > 200
    page.select_option(".ae-palette", "viridis")
    assert pixels(page)[y, x, :3].round().tolist() == [0x44, 0x01, 0x54]


@pytest.mark.parametrize("view", VIEWS)
def test_a_narrow_screen_shows_all_of_it(open_explorer, view):
    _, weights = synthetic(3, 4, 12, 14)
    tokens = [f"word{i}" for i in range(14)]
    shown = explore_attention(weights, tokens[:12], tokens).select(view=view)
    page = open_explorer(shown, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert layout(page)["width"] <= page.evaluate(
        "document.querySelector('.ae-scroll').clientWidth"
    )
    assert (
        page.locator(".ae-panel").bounding_box()["y"]
        > page.locator(".ae-stage").bounding_box()["y"]
    )


def test_it_is_saved_as_png_and_as_a_page_that_works_like_this_one(
    open_explorer, open_page, tmp_path
):
    page = open_explorer(lit().select(layer=1, head=1))
    with page.expect_download() as download:
        page.click("text=Save PNG")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "by-hand-layer-1-head-1.png"
    image = Image.open(BytesIO(path.read_bytes())).convert("RGB")
    assert image.width > 2 * layout(page)["width"]  # twice the pixels of this screen
    assert len(image.getcolors(1 << 20)) > 20
    with page.expect_download() as download:
        page.click("text=Save HTML")
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name == "by-hand.html"
    copy = open_page(saved.as_uri())
    copy.wait_for_selector(".ae[data-state]", state="attached")
    assert state(copy) == state(page)
    assert copy.locator("h1").all_inner_texts() == ["By hand"]
    copy.focus(".ae-head")
    copy.keyboard.press("ArrowRight")
    assert state(copy)["head"] == 2


def test_the_table_says_what_the_picture_shows(open_explorer):
    page = open_explorer(lit().select(layer=1, head=2))
    page.click("summary")
    page.wait_for_selector(".ae tbody tr")  # browsers report an opened summary a moment later
    rows = page.eval_on_selector_all(".ae tbody tr", "(rows) => rows.map((r) => r.innerText)")
    assert len(rows) == 4
    assert re.fullmatch(r"dog\s+“\.” 1\.00", rows[2].strip())
    heads = "(cells) => cells.map((cell) => cell.innerText)"
    choose_view(page, "Heads")
    assert page.eval_on_selector_all(".ae thead th", heads)[1:] == [
        "layer 1, head 2: keys it attends to most"
    ]
    choose_view(page, "Lines")
    page.get_by_role("checkbox", name="head 1").check()  # and head 2, as before
    assert page.eval_on_selector_all(".ae thead th", heads)[1:] == [
        "head 1: keys it attends to most",
        "head 2: keys it attends to most",
    ]
    assert re.match(
        r"dog\s+der 1\.00\s+“\.” 1\.00", page.locator(".ae tbody tr").nth(2).inner_text()
    )


def test_the_heads_that_are_drawn_are_announced(open_explorer):
    page = open_explorer(lit().select(view="grid"))
    page.focus(".ae-stage")
    page.keyboard.press("ArrowRight")
    announced = page.locator(".ae-status")
    assert re.match(r"By hand, at layer 0, head 1: entropy \d\.\d\d of", announced.inner_text())
    assert ", at layer 0, head 1." in page.get_attribute(".ae-stage", "aria-label")
    choose_view(page, "Lines")
    mean = page.get_by_role("checkbox", name="mean of heads")
    mean.check()
    page.get_by_role("button", name="all").click()
    assert state(page)["heads"] == [0, 1, 2]
    assert not mean.is_checked()
    assert re.match(
        r"By hand, layer 0, heads 0, 1, 2: head 0, entropy .* nats; head 1, .* nats; head 2",
        announced.inner_text(),
    )


def test_a_click_on_the_line_of_an_opened_cell_releases_it(open_explorer):
    page = open_explorer(lit().select(query=2, key=3))
    choose_view(page, "Lines")
    at = layout(page)
    point(page, at["x0"] - 20, at["y0"] + 2.5 * at["pitch"])
    page.mouse.down()
    page.mouse.up()
    assert state(page)["query"] is None


def test_without_scripts_the_picture_stays(browser, tmp_path):
    lit().save_html(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    image = page.locator("img")
    assert image.is_visible()
    assert "'the' attends to 'der'" in image.get_attribute("alt")
    assert image.bounding_box()["width"] > 200
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(open_explorer, axe, view, dark):
    shown, _, _ = causal()
    page = open_explorer(shown.select(view=view, query=1), dark=dark)
    page.click("summary")
    page.wait_for_selector(".ae tbody tr")
    assert serious_violations(page, axe) == {}


def test_of_two_sentences_the_weights_between_any_two_are_chosen_with_keys(open_explorer, axe):
    tokens = ["[CLS]", "a", "[SEP]", "b", "[SEP]"]
    weights = torch.full((2, 2, 5, 5), 0.1)
    weights[..., 4] = 0.6
    shown = explore_attention(weights, tokens, title="Pair", second_sentence=3)
    page = open_explorer(shown, width=390)
    assert "not renormalised" not in page.inner_text(".ae-legend")
    chosen = page.get_by_role("radio", name="A → B, from sentence A to sentence B")
    page.get_by_role("group", name="Show").get_by_role("radio").first.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert chosen.is_checked()
    assert state(page)["sentences"] == "AB"
    assert (layout(page)["rows"], layout(page)["columns"]) == (3, 2)
    assert "from sentence A to sentence B" in page.get_attribute(".ae-stage", "aria-label")
    assert "part of each row, not renormalised" in page.inner_text(".ae-legend")
    page.focus(".ae-stage")
    for key in ("ArrowDown", "ArrowDown", "End", "Enter"):
        page.keyboard.press(key)
    assert (state(page)["query"], state(page)["key"]) == (1, 4)
    assert "“a” is locked, attends in sentence B to" in panel(page)
    assert "“a” attends to “[SEP]”: 0.6000" in panel(page)
    for view in ("lines", "heads", "grid"):
        page.check(f".ae-segments input[value={view}]", force=True)
        assert (layout(page)["rows"], layout(page)["columns"]) == (3, 2), view
        assert "not renormalised" in page.inner_text(".ae-legend"), view
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert serious_violations(page, axe) == {}
    page.check(".ae-segments input[value=all]", force=True)
    assert (layout(page)["rows"], layout(page)["columns"]) == (5, 5)


def test_without_a_second_sentence_nothing_is_offered(open_explorer):
    page = open_explorer(lit())
    assert page.locator(".ae-sentences").count() == 0
    assert "sentences" not in state(page)
