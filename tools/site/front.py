"""The first page: what the course is, and its translator, typed into at once.

The model is a script of its own, since a page that is opened from a disk may load a script but read
no other file. The first page asks for it once everything else is shown.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection
from pathlib import Path
from typing import get_args

from course_lib.training import load_translator
from course_lib.translation_verbs import PageModel, page_of
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.packed_model import pack_model
from course_lib.viz.web.translator_texts import TEXTS
from tools.notebooks.notebook_normal_form import colab_link, repository
from tools.site import ASSETS, ROOT
from tools.site.front_parts import READ, WRITTEN, answer, diagram, lessons, next_word, report
from tools.site.meta_tags import DESCRIPTION, meta_tags

MODEL = "_static/translator_model.js"
# The first is typed into on the first page.
MODELS: tuple[PageModel, ...] = get_args(PageModel)
PAGES = dict(zip(MODELS, ("translator.html", "other_translator.html"), strict=True))
# Short, in another order than English, and translated right.
SENTENCE = "Das hat mir gefallen."
CHIPS = ("Ruf mich morgen an!", "Wie alt ist dein Hund?", "Es regnet seit gestern.")
LOAD = """document.head.append(Object.assign(document.createElement("script"), { src: "%s" }));"""


def write_front(folder: Path, pages: Collection[str]) -> None:
    """Write what index.md takes in: its text, the form, what is shown below it.

    Args:
        folder: that Sphinx reads.
        pages: of the site, without their ending; links to others lead to the repository.
    """
    address = _addresses(pages)
    translator = load_translator(model=MODELS[0])
    marks = {
        "repository": repository(),
        "colab": colab_link("notebooks/00_start_here.ipynb", home=repository()),
        "first": address("notebooks/00_start_here"),
        "readme": address("README"),
        "questions": address("docs/questions"),
        "teaching": address("docs/teaching"),
        "weights": f"{sum(weights.numel() for weights in translator.model.parameters()):,}",
        "asked": TEXTS[MODELS[0]].asked,
        "sentence": SENTENCE,
        "examples": " ".join(f'<button type="button" lang="de">{chip}</button>' for chip in CHIPS),
        "read": READ,
        "written": WRITTEN,
        "film": next_word(translator),
        "answer": answer(),
        "report": report(),
        "diagram": diagram(load_translator(model="small"), address),
        "lessons": lessons(address),
    }
    for name in ("index.md", "front.html"):
        text = (ASSETS / name).read_text("utf-8")
        for mark, value in marks.items():
            text = text.replace(f"<!--{mark}-->", value)
        (folder / name).write_text(text, "utf-8")
    script = bundle("front_door") + LOAD % MODEL
    with (folder / "front.html").open("a", encoding="utf-8") as file:
        file.write(f'<script type="module">\n{script}\n</script>\n')


def _addresses(pages: Collection[str]) -> Callable[[str], str]:
    """Where a link from the first page to a page of the project leads."""

    def address(page: str) -> str:
        if page in pages:
            return f"{page}.html"
        [file] = ROOT.glob(f"{page}.[im]*")
        return f"{repository()}/blob/main/{file.relative_to(ROOT).as_posix()}"

    return address


def write_translators(output: Path) -> None:
    """Write the model for the first page, and the page of each model."""
    for model, page in PAGES.items():
        others = [other for other in PAGES.values() if other != page]
        text = page_of(model, other_page="".join(others))
        tags = meta_tags(page, "A Transformer inside a page", DESCRIPTION)
        (output / page).write_text(text.replace("<title>", f"{tags}\n<title>", 1), "utf-8")
    packed = pack_model(load_translator(model=MODELS[0]), bits=TEXTS[MODELS[0]].bits)
    text = base64.b64encode(packed).decode("ascii")
    (output / MODEL).write_text(f'loadTranslator("{text}");\n', "ascii")
