"""The first page: what the course is, and its translator, typed into at once.

The model is a script of its own, since a page that is opened from a disk may load a script but read
no other file. The first page asks for it once everything else is shown.
"""

from __future__ import annotations

import base64
import contextlib
import html
import io
import shutil
from pathlib import Path

from course_lib import cli
from course_lib.training import load_translator
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.translator_page import EXAMPLES, pack_model
from tools.notebooks.notebook_normal_form import colab_link, repository
from tools.site import ASSETS, ROOT

PICTURE = Path("course_lib", "assets", "readme", "attention.png")
MODEL = "_static/translator_model.js"
LOAD = """document.head.append(Object.assign(document.createElement("script"), { src: "%s" }));"""


def write_front(folder: Path) -> None:
    """Write what index.md takes in: its text, the form, the picture."""
    home = repository()
    model = load_translator().model
    marks = {
        "repository": home,
        "colab": colab_link("notebooks/00_start_here.ipynb", home=home),
        "weights": f"{sum(weights.numel() for weights in model.parameters()):,}",
        "examples": " ".join(
            f'<button type="button" lang="de">{html.escape(german)}</button>'
            for german, _ in EXAMPLES[2:5]
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


def write_translator(output: Path) -> None:
    """Write the model for the first page, and the page of ``course translator``."""
    translator = load_translator()
    packed = pack_model(
        translator.model, translator.source_vocabulary.tokens, translator.target_vocabulary.tokens
    )
    text = base64.b64encode(packed).decode("ascii")
    (output / MODEL).write_text(f'loadTranslator("{text}");\n', "ascii")
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["translator", "--no-browser", "--output", str(output)])
