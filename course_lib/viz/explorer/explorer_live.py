"""The attention explorer as a live widget: Python knows what the reader chooses."""

from __future__ import annotations

import anywidget
import traitlets

from course_lib.viz.explorer.explorer_page import module, stylesheet


class LiveExplorer(anywidget.AnyWidget):
    """Sends the packed attention to the browser, and the state in both directions."""

    _esm = module()
    _css = stylesheet()
    data = traitlets.Bytes().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)
