"""How the output of a notebook cell names a live widget, for who shows one and who takes it out."""

from typing import Any

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"


def widget_output(model_id: str) -> dict[str, Any]:
    """The entry of an output's data that shows the widget of this id, in the running kernel."""
    return {WIDGET_VIEW: {"version_major": 2, "version_minor": 0, "model_id": model_id}}
