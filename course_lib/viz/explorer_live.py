"""The attention explorer in a live notebook: what the reader chooses is known to Python."""

from __future__ import annotations

import anywidget
import traitlets

from course_lib.viz.explorer_page import module, stylesheet


class LiveExplorer(anywidget.AnyWidget):
    """Carries the packed attention to the browser, and the state both ways."""

    _esm = module()
    _css = stylesheet()
    data = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
