"""What a page shows that strips scripts, styles and forms, as GitHub's viewer does."""

import re
from pathlib import Path

import bleach
import pytest

from tools import ROOT
from tools.notebooks.notebook_normal_form import read

FOLDERS = ("notebooks", "exercises")
NOTEBOOKS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.ipynb"))
# As in GitHub's html-pipeline; what is not listed loses its tag and keeps its text.
TAGS = """a b blockquote br caption code dd details del div dl dt em figcaption figure h1 h2 h3 h4
    h5 h6 hr i img ins kbd li ol p pre s samp span strong sub summary sup table tbody td th thead tr
    ul var""".split()
ATTRIBUTES = ["alt", "colspan", "href", "open", "rowspan", "src", "title"]
REMOVED_WHOLE = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)
CONTROLS = re.compile(r"<(input|button|select|textarea)\b")


def as_github_shows(html: str) -> str:
    return bleach.clean(
        REMOVED_WHOLE.sub("", html),
        tags=TAGS,
        attributes=ATTRIBUTES,
        protocols=["http", "https", "data"],
        strip=True,
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_output_still_says_what_it_shows(path: Path) -> None:
    for cell in read(path).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            shown = as_github_shows(html)
            assert not CONTROLS.search(shown), cell.id
            assert html.count("<img") == len(re.findall(r'<img [^>]*alt="[^"]{15,}', shown)), (
                cell.id
            )
            words = re.sub("<[^>]*>", " ", shown).split()
            assert not html or len(words) >= 3, f"{cell.id}: no visible words"


def test_a_picture_whose_controls_are_gone_keeps_its_caption() -> None:
    html = '<style>p{}</style><input type="range"><img alt="x" src="data:image/webp;base64,AA">'
    assert as_github_shows(html) == '<img alt="x" src="data:image/webp;base64,AA">'
