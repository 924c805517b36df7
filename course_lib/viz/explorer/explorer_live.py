"""The attention explorer as a live widget: Python knows what the reader chooses."""

from __future__ import annotations

import anywidget
import traitlets

from course_lib.viz.drawings.colours import short
from course_lib.viz.explorer.explorer_constants import ASSETS
from course_lib.viz.web.bundles import bundle

MODULE = bundle("explorer")  # the whole script
STYLESHEET = short((ASSETS / "explorer.css").read_text("utf-8"))


class LiveExplorer(anywidget.AnyWidget):
    """Sends the packed attention to the browser, and the state in both directions."""

    _esm = MODULE
    _css = STYLESHEET
    data = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
