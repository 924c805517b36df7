"""How a notebook shows a box of widgets."""

from typing import Any

from ipywidgets import Box

from course_lib.viz.widgets.accessible_widgets import AnswerWatch
from course_lib.widget_output import widget_output


def widget_view(box: Box) -> tuple[dict[str, Any], dict[str, Any]]:
    """A notebook output with the box, and its metadata.

    In Colab, anywidget says in the metadata where the scripts of its widgets come from. Without
    that, Colab shows nothing in place of a box that holds such a widget, as ours do.
    """
    inner = next(child for child in box.children if isinstance(child, AnswerWatch))
    shown = inner._repr_mimebundle_()
    return widget_output(box.model_id), shown[1] if shown else {}
