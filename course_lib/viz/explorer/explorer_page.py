"""The attention explorer as HTML: a picture that its script brings to life."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from course_lib.viz.explorer.explorer_constants import ASSETS
from course_lib.viz.figure_html import picture_tag
from course_lib.viz.web.bundles import bundle
from course_lib.viz.web.live_html import live_fragment

STILL = (
    "<p>This is a still picture of the attention explorer. To explore, run this cell; on a page, "
    "allow scripts.</p>"
)


@cache
def module() -> str:
    """The whole script: one ES module without dependencies."""
    return bundle("explorer")


@cache
def stylesheet() -> str:
    """The explorer's CSS."""
    return (ASSETS / "explorer.css").read_text("utf-8")


def fragment(packed: bytes, state: Mapping[str, Any], *, png: bytes, alt: str) -> str:
    """HTML of a picture that becomes the explorer where scripts run.

    Args:
        packed: what `pack` returned.
        state: what is shown first.
        png: the picture for where no script runs.
        alt: its alt text.
    """
    code = {"module": module(), "style": stylesheet(), "state": dict(state)}
    return live_fragment(picture_tag(png, alt) + STILL, code, packed)
