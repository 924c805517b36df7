"""The page that translates by itself: what is in it, for each model that comes with the course."""

import json
import re

import pytest

from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.web.translator_page import ASSETS, MODEL, translator_page
from course_lib.viz.web.translator_texts import TEXTS
from tests.viz.web.tiny_translator import tiny


def test_the_page_needs_no_other_file_and_shows_the_model_that_it_runs():
    page = translator_page(tiny(), "small")
    assert not re.search(r"<(link|script|img|iframe)[^>]*\b(src|href)=(?!\"data:)", page)
    assert "<!--" not in page
    assert page.count("</script>") == 2, "a word must not end a script"
    assert "It knows 1 German words" in page
    code = page[page.index("<pre") : page.index("</pre>")]
    assert "if (token !== eos_id &amp;&amp; length &lt; limit)" in code
    assert MODEL.read_text("utf-8").count("\n") == code.count("\n")


def test_each_models_page_names_the_other_by_its_page_or_the_command_that_writes_it():
    page = translator_page(tiny(), "small")
    assert "<code>course translator --model everyday</code> writes the model that reads" in page
    page = translator_page(tiny(), "small", other_page='a"b.html')
    assert '<a href="a&quot;b.html">Another page</a> holds the model that reads short' in page


@pytest.mark.parametrize("name", TEXTS)
def test_each_model_offers_texts_with_translations_and_names_a_model_that_there_is(name):
    texts = TEXTS[name]
    assert texts.other[0] in TEXTS and texts.other[0] != name
    assert len(texts.examples) >= 5
    for german, english in [*texts.examples, *texts.sentences]:
        assert german.strip() == german and english.strip() == english and english


def test_attention_goes_from_the_colour_of_the_page_to_its_own_in_both_themes():
    light, dark = (
        tuple(getattr(COLOURS[name], theme)[1:] for name in ("page", "attention"))
        for theme in ("light", "dark")
    )
    explorer = ASSETS.with_name("explorer")
    slate = json.loads((explorer / "constants.json").read_text("utf-8"))["palettes"]["slate"]
    assert (slate.split()[0], slate.split()[-1]) == light
    script = (explorer / "drawing" / "colour.js").read_text("utf-8")
    assert f'SLATE_IN_THE_DARK = "{" ".join(dark)}"' in script


def test_the_diagram_has_the_blue_of_all_pages():
    text = (ASSETS.parent / "model_diagram/constants.json").read_text("utf-8")
    assert COLOURS["german"].light in text and COLOURS["german"].dark in text
