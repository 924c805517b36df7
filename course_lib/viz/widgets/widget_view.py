"""How a notebook shows a box of widgets."""

from typing import Any

from ipywidgets import Box

from course_lib.viz.widgets.accessible_widgets import AnswerWatch

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def widget_view(box: Box) -> tuple[dict[str, Any], dict[str, Any]]:
    """A notebook output with the box, and its metadata.

    In Colab, anywidget says in the metadata where the scripts of its widgets come from. Without
    that, Colab shows nothing in place of a box that holds such a widget, as ours do.
    """
    view = {"version_major": 2, "version_minor": 0, "model_id": box.model_id}
    inner = next(child for child in box.children if isinstance(child, AnswerWatch))
    shown = inner._repr_mimebundle_()
    return {WIDGET_VIEW: view}, shown[1] if shown else {}
