"""Make the picture that a link to the site shows: ``python -m tools.site.preview``.

It needs Chromium, which the site itself does not, so the picture is stored in the project. Make it
again when the headline or the model of the first page changes.
"""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image

from course_lib.training import load_translator
from course_lib.viz.drawings.attention.attention_columns import attention_columns
from course_lib.viz.drawings.colours import document_style, forced_variables, stylesheet, variables
from tools.chromium import start_chromium
from tools.site import ASSETS
from tools.site.meta_tags import PREVIEW_SIZE

TARGET = ASSETS / "static" / "preview.png"
READ = "Das Kind hat Angst vor dem Hund."
ZOOM = 1.6
STYLE = """
body { margin: 0; padding: 0 64px; height: 630px; display: flex; align-items: center; gap: 40px;
  background: var(--page); color: var(--ink); font-family: var(--face); box-sizing: border-box; }
h1 { margin: 0 0 24px; font-size: 55px; line-height: 1.08; letter-spacing: -.02em; }
p { margin: 0; font-size: 23px; line-height: 1.45; color: var(--soft); }
div { flex: 1; }
svg { flex: none; }
"""


def preview_page() -> str:
    """The headline beside where the words of a translation look, in the last layer."""
    translator = load_translator(model="everyday")
    translation, attention = translator.attend(READ)
    queries, keys = (
        [tokenizer.join([token]).strip() for token in tokens]
        for tokenizer, tokens in (
            (translator.target_vocabulary, translation.target),
            (translator.source_vocabulary, translation.source),
        )
    )
    weights = attention.cross[-1, 0].mean(dim=0)[: len(queries)]
    panel = attention_columns(
        "",
        weights,
        queries=queries,
        keys=keys,
        languages=("english", "german"),
        lit=queries.index("afraid"),
        headings=("writes", "reads"),
        note="",
    )
    style = document_style() + variables() + forced_variables() + stylesheet("picture") + STYLE
    width, height = panel.width * ZOOM, panel.height * ZOOM
    svg = panel.svg().replace("<svg ", f'<svg style="width:{width:g}px;height:{height:g}px" ', 1)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><style>{style}</style><div>'
        "<h1>Build the machine that translates this</h1><p>The Transformer, question by question."
        f"<br>Nineteen lessons in PyTorch.</p></div>{svg}</html>"
    )


def write_preview(target: Path = TARGET) -> None:
    """Photograph the page, in as few colours as look the same."""
    width, height = PREVIEW_SIZE
    with start_chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.set_content(preview_page())
        shot = page.screenshot()
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    image.quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    write_preview()
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")
