import base64
import io
from html.parser import HTMLParser

import numpy as np
from PIL import Image, PngImagePlugin

from tests.tools.notebooks.sample_notebooks import bundle, heatmap, stream
from tools.notebooks.difference_page import LONGEST, Difference, difference_page, shown

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """The tags of a page, and the sources of its pictures."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "img":
            self.sources.append(dict(attributes)["src"])


def differing(stored=(), new=(), **texts):
    texts = {"id": "a-cell", "source": "1", "reason": "why"} | texts
    return Difference(**texts, stored=list(stored), new=list(new))


def test_both_texts_and_both_pictures_are_on_the_page():
    here, there = heatmap(np.eye(8)), heatmap(np.eye(8)[::-1])
    stored = [stream("loss 0.1\n"), bundle(png=here, plain="a map")]
    new = [stream("loss 0.2\n"), bundle(png=there, plain="a map")]
    text = difference_page("lesson.ipynb", [differing(stored, new, reason="they differ")])
    assert "lesson.ipynb: 1 cell differs" in text and "they differ" in text
    assert "loss 0.1" in text and "loss 0.2" in text
    assert "a map" not in text  # which is the same
    sources = Page(text).sources
    assert len(sources) == 2
    for source, picture in zip(sources, (here, there), strict=True):
        kind, _, data = source.partition(",")
        assert kind == "data:image/png;base64"
        pixels = (Image.open(io.BytesIO(base64.b64decode(p))) for p in (data, picture))
        assert np.array_equal(*(np.asarray(image.convert("RGB")) for image in pixels))


def test_nothing_of_a_notebook_is_markup_on_the_page():
    html = [bundle(html=EVIL), stream(EVIL), bundle(plain=EVIL)]
    cell = differing(html, [], id=EVIL, source=EVIL, reason=EVIL)
    text = difference_page(EVIL, [cell])
    assert EVIL not in text and "script" not in Page(text).tags
    assert text.count("&lt;script&gt;") >= 7
    assert "default-src 'none'" in text


def test_a_picture_is_encoded_anew_without_what_was_hidden_in_it():
    hidden = PngImagePlugin.PngInfo()
    hidden.add_text("comment", "hidden")
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, format="png", pnginfo=hidden)
    assert b"hidden" in buffer.getvalue()
    picture = shown("image/png", base64.b64encode(buffer.getvalue()).decode())
    assert b"hidden" not in base64.b64decode(picture.picture.partition(",")[2])


def test_what_is_no_picture_is_shown_as_words():
    for value in ("bm90aGluZw==", '"><script>', "%%%"):
        side = shown("picture", value)
        assert not side.picture and side.text.startswith("not a picture")


def test_an_output_that_is_gone_or_new_stands_beside_nothing():
    rows = list(differing([stream("gone\n")], []).rows)
    assert [(kind, a.text, b.text) for kind, a, b in rows] == [
        ("output 1, stdout", "gone\n", "(nothing)")
    ]


def test_a_long_output_is_cut_and_other_data_is_shown_as_python_writes_it():
    assert len(shown("stdout", "x" * (LONGEST + 9)).text) == LONGEST + 2
    assert shown("application/json", {"a": 1}).text == "{'a': 1}"


def test_a_plot_is_shown_as_an_image_in_which_no_script_runs():
    address = "%3Csvg onload='alert(1)'%3E"
    plot = bundle(html=f'<img class="plot" alt="A map." src="data:image/svg+xml,{address}">')
    page = Page(difference_page("lesson.ipynb", [differing([plot], [stream("x")])]))
    assert page.sources == [f"data:image/svg+xml,{address}"]
    assert "svg" not in page.tags
