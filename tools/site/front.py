"""The first page: what the course is, and its translator, typed into at once.

The model is a script of its own, since a page that is opened from a disk may load a script but read
no other file. The first page asks for it once everything else is shown.
"""

from __future__ import annotations

import base64
import html
import shutil
from pathlib import Path
from typing import get_args

from course_lib.training import load_translator
from course_lib.translation_verbs import Model, page_of
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.packed_model import pack_model
from course_lib.viz.web.translator_texts import TEXTS
from tools.notebooks.notebook_normal_form import colab_link, repository
from tools.site import ASSETS, ROOT

PICTURE = Path("course_lib", "assets", "readme", "attention.png")
MODEL = "_static/translator_model.js"
# The first is typed into on the first page.
MODELS: tuple[Model, ...] = get_args(Model)
PAGES = dict(zip(MODELS, ("translator.html", "other_translator.html"), strict=True))
LOAD = """document.head.append(Object.assign(document.createElement("script"), { src: "%s" }));"""


def write_front(folder: Path) -> None:
    """Write what index.md takes in: its text, the form, the picture."""
    home, texts = repository(), TEXTS[MODELS[0]]
    model = load_translator(model=MODELS[0]).model
    marks = {
        "repository": home,
        "colab": colab_link("notebooks/00_start_here.ipynb", home=home),
        "weights": f"{sum(weights.numel() for weights in model.parameters()):,}",
        "asked": texts.asked,
        "first": html.escape(texts.examples[0][0]),
        "examples": " ".join(
            f'<button type="button" lang="de">{html.escape(german)}</button>'
            for german, _ in texts.examples[2:5]
        ),
        "others": "".join(
            f'<p><a href="{PAGES[other]}">Another model</a> {TEXTS[MODELS[0]].other[1]}.</p>'
            for other in MODELS[1:]
        ),
    }
    for name in ("index.md", "front.html"):
        text = (ASSETS / name).read_text("utf-8")
        for mark, value in marks.items():
            text = text.replace(f"<!--{mark}-->", value)
        (folder / name).write_text(text, "utf-8")
    script = bundle("front_door") + LOAD % MODEL
    with (folder / "front.html").open("a", encoding="utf-8") as file:
        file.write(f'<script type="module">\n{script}\n</script>\n')
    (folder / PICTURE).parent.mkdir(parents=True)
    shutil.copy(ROOT / PICTURE, folder / PICTURE)


def write_translators(output: Path) -> None:
    """Write the model for the first page, and the page of each model."""
    for model, page in PAGES.items():
        others = [other for other in PAGES.values() if other != page]
        (output / page).write_text(page_of(model, other_page="".join(others)), "utf-8")
    packed = pack_model(load_translator(model=MODELS[0]), bits=TEXTS[MODELS[0]].bits)
    text = base64.b64encode(packed).decode("ascii")
    (output / MODEL).write_text(f'loadTranslator("{text}");\n', "ascii")
