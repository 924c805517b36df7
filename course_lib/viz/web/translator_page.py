"""A trained model as one HTML page that translates by itself: no Python, no network, no other file.

The model is inside the page, because a page that is opened from a disk may not read a second file.
What the page computes is in ``course_lib/assets/translator``.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path

from course_lib.viz.drawings.colours import document_style
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.packed_model import TranslatorToPack, pack_model
from course_lib.viz.web.translator_texts import TEXTS, Text

ASSETS = Path(__file__).parents[2] / "assets" / "translator"
MODEL = ASSETS / "transformer.js"  # the whole model; the page shows its text, too


def translator_page(
    translator: TranslatorToPack,
    name: str,
    *,
    sentences: Sequence[Text] = (),
    other_page: str = "",
) -> str:
    """The page as text.

    Args:
        translator: the model ``name``.
        name: of a model that comes with the course, "everyday" or "small".
        sentences: with their right translations, of which a button picks one; those that belong to
            the model's texts are added.
        other_page: address of the other model's page; by default the page names the command that
            writes it.

    Raises:
        CourseError: the page's script cannot compute this model.
    """
    texts = TEXTS[name]
    name_of_other, reason = texts.other
    link = (
        f'<a href="{html.escape(other_page)}">Another page</a> holds'
        if other_page
        else f"<code>course translator --model {name_of_other}</code> writes"
    )
    known = sum(not word.startswith("<") for word in translator.source_vocabulary.tokens)
    packed = pack_model(
        translator,
        bits=texts.bits,
        examples=texts.examples,
        sentences=[*texts.sentences, *sentences],
    )
    # No value contains a mark or ends a script element: a test looks at the page.
    marks = {
        "lead": f"{texts.lead.format(known=f'{known:,}')} {link} the model that {reason}.",
        "title": texts.title,
        "asked": texts.asked,
        "token": texts.token,
        "style": document_style() + (ASSETS / "translator.css").read_text("utf-8"),
        "source": html.escape(MODEL.read_text("utf-8"), quote=False),
        "model": base64.b64encode(packed).decode("ascii"),
        "script": bundle("translator"),
    }
    page = (ASSETS / "translator.html").read_text("utf-8")
    for mark, text in marks.items():
        page = page.replace(f"<!--{mark}-->", text)
    return page
