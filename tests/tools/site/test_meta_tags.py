import re

import pytest
from docutils import nodes

from tools.site import meta_tags
from tools.site.meta_tags import DESCRIPTION, described, shortened, site_address
from tools.site.meta_tags import meta_tags as tags_of


def contents(page="docs/map.html", title="A & B", description="What it is."):
    found = re.findall(r'<meta \w+="([^"]*)" content="([^"]*)">', tags_of(page, title, description))
    return dict(found)


def test_on_the_code_host_addresses_are_absolute(monkeypatch):
    monkeypatch.setattr(meta_tags, "repository", lambda: "https://github.com/Me/it")
    assert site_address() == "https://me.github.io/it/"
    assert contents()["og:image"] == "https://me.github.io/it/_static/preview.png"
    assert contents()["og:url"] == "https://me.github.io/it/docs/map.html"
    assert contents("index.html")["og:url"] == "https://me.github.io/it/"


def test_elsewhere_the_picture_is_relative_and_the_page_has_no_address(monkeypatch):
    monkeypatch.setattr(meta_tags, "repository", lambda: "https://git.example.org/me/it")
    assert contents()["og:image"] == "../_static/preview.png"
    assert contents("index.html")["og:image"] == "_static/preview.png"
    assert "og:url" not in contents()


def test_titles_and_descriptions_are_escaped():
    assert contents()["og:title"] == "A &amp; B"
    assert contents(description='say "hi"')["description"] == "say &quot;hi&quot;"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Short.", "Short."),
        ("One. " + "two " * 60 + "end.", "One."),
        ("word " * 60, "word " * 39 + "word …"),
    ],
)
def test_a_long_description_ends_after_a_sentence_or_a_word(words, expected):
    assert shortened(words.strip()) == expected


def test_a_page_is_described_by_its_first_long_paragraph():
    document = nodes.document(None, None)
    assert described(document) == described(None) == DESCRIPTION
    long = "This paragraph is long enough to say what the page is about."
    document += [nodes.paragraph("", "Short."), nodes.paragraph("", long)]
    assert described(document) == long
