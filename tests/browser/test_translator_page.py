"""The translator page in a real browser, without a network: by pointer, by keyboard, on a phone."""

import re
from contextlib import nullcontext

import pytest
import torch

from course_lib import cli
from course_lib.decoding import Decoding
from course_lib.training import load_translator
from course_lib.viz.web.translator_page import translator_page
from tests.browser.lab import serious_violations
from tests.decoding.free_text_translator import free_text_translator
from tests.viz.web.tiny_translator import rounded
from tools.models import compare_translator
from tools.models.compare_translator import compare, translate_in_page


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translator")
    cli.main(["translator", "--model", "small", "--no-browser", "--output", str(folder)])
    return (folder / "translator.html").as_uri()


@pytest.fixture(scope="module")
def free_text_address(tmp_path_factory):
    """The page of a model that reads free text; it translates into noise."""
    page = tmp_path_factory.mktemp("free_text") / "translator.html"
    translator = free_text_translator()
    torch.manual_seed(0)
    with torch.no_grad():  # so that sentences differ in their noise
        for parameter in translator.model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    rounded(translator, bits=8)
    page.write_text(translator_page(translator, "everyday"), "utf-8")
    return page.as_uri()


@pytest.fixture
def open_translator(open_page, address):
    """The page with its first example translated."""

    def open_(address=address, **options):
        page = open_page(address, **options)
        page.wait_for_selector("body[data-runs]")
        return page

    return open_


def act(page, action):
    """Do what leads to a translation, and wait for it."""
    runs = page.get_attribute("body", "data-runs")
    action()
    # The page lets nothing evaluate text, and that is what waiting for a condition would do.
    page.wait_for_selector(f'body:not([data-runs="{runs}"])')


@pytest.mark.smoke
def test_a_typed_sentence_is_translated_by_enter_alone(open_translator):
    page = open_translator()
    assert page.inner_text("#translation") == "the old dog sees the cat."
    assert page.locator("#random").is_visible()
    page.fill("#sentence", "Jeden Tag steht Lena auf.")
    act(page, lambda: page.press("#sentence", "Enter"))
    assert page.inner_text("#translation") == "every day lena gets up."
    assert re.fullmatch(
        r"Translated 1 sentence, 6 tokens, in \d+ ms, greedy decoding\.", page.inner_text("#status")
    )
    act(page, lambda: page.select_option("#width", "8"))
    assert page.is_checked("#beam")
    assert "beam search of width 8" in page.inner_text("#status")


def test_result_and_attention_stand_beside_and_below_the_text_on_the_first_screen(open_translator):
    page = open_translator(width=1440)
    boxes = {id: page.locator(id).bounding_box() for id in ("#ask", "#result", ".large canvas")}
    assert boxes["#result"]["y"] == boxes["#ask"]["y"]
    assert boxes["#result"]["x"] > boxes["#ask"]["x"]
    assert boxes[".large canvas"]["y"] < 700
    assert page.locator("#examples button").count() == 3


def test_the_browser_computes_what_pytorch_computes(open_translator):
    page, translator = open_translator(), load_translator()
    texts = ["Hund", "Die Birne kann leuchten, wenn sie kaputt ist.", "Das Eichhörnchen schläft."]
    for width, decoding in ((0, Decoding()), (4, Decoding("beam", width=4))):
        results = translate_in_page(page, texts, width=width)
        assert compare(translator, texts, results, decoding=decoding).equal


def test_the_command_compares_and_times(browser, monkeypatch, capsys, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("Der Hund schläft.\nHund\nKatze\n", "utf-8")
    options = "--sentences 2 --timed 1 --slowdown 2".split()
    monkeypatch.setattr(compare_translator, "start_chromium", lambda: nullcontext(browser))
    assert compare_translator.main(["--texts", str(texts), *options]) == 0
    printed = capsys.readouterr().out
    for line in (
        r"greedy: 2 of 2 translations equal; largest difference of a logit \d\.\de-0[5-9], of an",
        r"beam: 2 of 2 translations equal; ",
        r"page: 2\.\d+ MB, first translation after [\d.]+ s with a CPU 2 times slower",
        r"beam: \d+ ms a sentence, at most \d+ ms, 1 sentences with a CPU 2 times slower",
    ):
        assert re.search(f"^{line}", printed, re.MULTILINE), line


def test_an_unknown_word_is_named_and_a_click_replaces_it_by_a_similar_one(open_translator):
    page = open_translator()
    page.fill("#sentence", "Die Katzze schläft.")
    act(page, lambda: page.click("text=Translate"))
    assert "does not know katzze and reads <unk>" in page.inner_text("#unknown")
    assert page.inner_text("#read") == "Die Katzze schläft."
    assert page.locator("#read mark").all_inner_texts() == ["Katzze"]
    act(page, lambda: page.click("#unknown button >> nth=0"))
    assert page.input_value("#sentence") == "Die katze schläft."
    assert page.inner_text("#translation") == "the cat sleeps."
    assert page.inner_text("#unknown") == page.inner_text("#read") == ""
    assert page.evaluate("document.activeElement.id") == "sentence"


def test_markup_in_a_sentence_stays_text(open_translator):
    page = open_translator()
    page.fill("#sentence", "<img src=x onerror=alert(1)> <b>hund</b>")
    act(page, lambda: page.click("text=Translate"))
    assert page.locator("main img").count() == 0
    note = page.inner_text("#unknown")  # one sentence for all of them
    assert (
        note.startswith("The model does not know <, img, src, =") and note.count("reads <unk>") == 1
    )


def test_an_empty_text_is_an_error_that_says_what_to_do_and_no_former_result_stays(open_translator):
    page = open_translator()
    page.fill("#sentence", "  ")
    page.click("text=Translate")
    page.wait_for_selector("#error:not(:empty)")
    assert "got an empty one" in page.inner_text("#error")
    assert not page.locator("#result").is_visible() and not page.locator("#inside").is_visible()
    assert page.get_attribute("#sentence", "aria-invalid") == "true"
    act(page, lambda: page.click("#examples button >> nth=2"))
    assert page.inner_text("#error") == ""
    assert page.inner_text("#translation") == "every day lena gets up."


def test_a_sentence_that_is_too_long_is_not_translated_and_says_so(open_translator):
    page = open_translator()
    act(page, lambda: page.click("#examples button >> nth=2"))
    page.fill("#sentence", "hund " * 257)
    page.click("text=Translate")
    page.wait_for_selector("text=Nothing to translate.")
    told = "This sentence has 258 tokens, and the model reads at most 256: make several sentences"
    assert told in page.inner_text("#result")
    assert "lena" not in page.inner_text("#result")


def test_a_step_shows_its_probabilities_and_the_temperature_changes_them(open_translator):
    page = open_translator()
    page.click("#steps button:has-text('dog')")
    assert page.inner_text("#step") == (
        "Step 3 of 8. The decoder has read <bos> the old; the next token:"
    )
    assert page.inner_text("#words .generated .word") == "dog"
    share = "parseFloat(document.querySelector('#words .generated .share').innerText.slice(-6))"
    before = page.evaluate(share)
    page.focus("#temperature")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert page.inner_text("#shown-temperature") == "3.0"
    assert page.evaluate(share) < before - 10


def test_attention_is_chosen_and_read_by_keyboard(open_translator):
    page = open_translator()
    page.click("#steps button:has-text('dog')")
    assert "“dog” attends most to: “hund” 0.9" in page.inner_text(".readout")
    page.focus("input[name=part]:checked")
    page.keyboard.press("ArrowDown")
    assert "Decoder (self-attention), layer 0, head 0" in page.inner_text(".large h3")
    page.keyboard.press("ArrowUp")
    page.focus("[data-head='1 3']")
    page.keyboard.press("Enter")
    assert "layer 1, head 3" in page.inner_text(".large h3")
    assert page.evaluate("document.activeElement.dataset.head") == "1 3"
    page.focus(".large canvas")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".readout").startswith("“sees” attends to “der”: ")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".readout").startswith("“sees” attends to “alte”: ")
    page.keyboard.press("Enter")
    assert page.inner_text("#step").startswith("Step 4 of 8.")
    assert page.evaluate("document.activeElement.tagName") == "CANVAS"


def test_the_arrow_keys_scroll_a_large_heatmap_to_the_cell(open_translator):
    page = open_translator(width=390)
    page.fill("#sentence", "hund " * 60)
    act(page, lambda: page.click("text=Translate"))
    page.click(".heads button >> nth=0")
    page.focus(".large canvas")
    for _ in range(50):
        page.keyboard.press("ArrowRight")
    scrolled, right = page.evaluate(
        """() => { const s = document.querySelector('.scroll');
          return [s.scrollLeft, s.scrollWidth - s.clientWidth]; }"""
    )
    assert 100 < scrolled < right
    page.keyboard.press("Escape")
    assert re.match("“(dog|sleep)” attends most to: “hund”", page.inner_text(".readout"))


def test_any_sentence_of_the_grammar_is_known_with_its_right_translation(open_translator):
    page = open_translator()
    act(page, lambda: page.click("#random"))
    assert re.match("This is the right translation|Expected: ", page.inner_text("#reference"))
    assert page.inner_text("#unknown") == ""


@pytest.fixture
def typed(open_translator, free_text_address):
    """The page of free text after a text was typed into it."""

    def type_(text, **options):
        page = open_translator(free_text_address, **options)
        page.fill("#sentence", text)
        act(page, lambda: page.click("text=Translate"))
        return page

    return type_


def test_each_sentence_of_a_text_is_translated_where_it_stands_and_can_be_chosen(typed):
    page = typed("Der Hund schläft.\n\nThe dog and the cat sleep. Die Katze 😀 schläft")
    sentences = page.locator("#translation .sentence")
    assert sentences.count() == 2
    assert "\n\nThe dog and the cat sleep. " in page.text_content("#translation")
    remarks = "\n".join(page.locator("#remarks li").all_inner_texts())
    for expected in (
        "The dog and the cat sleep. This looks like English; the model reads German.",
        "Die Katze 😀 schläft The model has never seen 😀: left out.",
    ):
        assert expected in remarks
    assert page.inner_text("#status").startswith("Translated 2 of 3 sentences, ")
    first = page.inner_text("#step")
    sentences.nth(1).focus()
    page.keyboard.press("Enter")
    assert sentences.nth(1).get_attribute("aria-pressed") == "true"
    assert sentences.nth(0).get_attribute("aria-pressed") == "false"
    assert page.inner_text("#step") != first
    sentences.nth(0).locator("[data-step]").nth(2).click()
    step = sentences.nth(0).locator("[data-step]").nth(2).get_attribute("data-step")
    assert page.inner_text("#step").startswith(f"Step {int(step) + 1} of ")


def test_words_of_which_the_model_is_unsure_are_marked_with_their_probability(open_translator):
    page = open_translator()
    page.click("#more summary")
    act(page, lambda: page.click("#more-examples button:has-text('Eichhörnchen')"))
    word = page.locator("#translation .unsure").first
    step = page.locator("#steps button").nth(int(word.get_attribute("data-step")))
    label, share = step.inner_text().split("\n")
    assert label == word.inner_text() and float(share.removesuffix(" %")) < 50
    assert word.get_attribute("title") == f"The model gives this word {share}."
    assert page.locator("#legend").is_visible()


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("😀 😀", "The model has never seen 😀: left out."),
        ("Привет!", "The model has never seen Привет: left out."),
        ("The old dog sees the cat.", "This looks like English; the model reads German."),
        ("a" * 60, "These are no German words that the model can read."),
        ("der hund " * 200, "the model reads at most 128: make several sentences of it."),
        ("!!!", ""),
    ],
    ids=["emoji", "Cyrillic", "English", "no words", "too long", "marks"],
)
def test_a_text_that_is_not_translated_stands_there_as_it_is_with_the_reason(typed, text, remark):
    page = typed(text)
    assert page.inner_text("#translation").strip() == text.strip()
    assert page.inner_text("#remarks").endswith(remark)
    assert page.inner_text("#status") == "Nothing to translate."
    assert not page.locator("#inside").is_visible() and not page.locator("#about").is_visible()
    act(page, lambda: page.click("#examples button >> nth=0"))
    assert page.locator("#inside").is_visible()
    assert not remark or remark not in page.inner_text("#remarks")


def test_markup_in_free_text_stays_text(typed):
    page = typed("<img src=x onerror=alert(1)> <b>Der Hund schläft.</b>")
    assert page.locator("main img").count() == 0
    assert "<b>" in page.inner_text("#remarks")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390, 360])
def test_it_is_accessible_and_nothing_is_wider_than_the_screen(open_translator, axe, width, dark):
    page = open_translator(width=width, dark=dark)
    page.fill("#sentence", "Dem freundlichen Studenten kann Paul einen Hammmer zeigen.")
    act(page, lambda: page.click("text=Translate"))
    page.click("#code summary")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_violations(page, axe) == {}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 360])
def test_several_sentences_are_accessible_too_and_no_wider_than_the_screen(typed, axe, width, dark):
    long = "Donaudampfschifffahrtsgesellschaftskapitän" * 3
    page = typed(f"Der Hund schläft. 😀 The dog sleeps.\n{long} Die Katze.", width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious_violations(page, axe) == {}
