import ipywidgets
from IPython.core.formatters import DisplayFormatter

from course_lib.widget_output import WIDGET_VIEW, widget_output
from tools import ROOT


def test_an_output_names_a_widget_as_ipywidgets_does():
    box = ipywidgets.VBox()
    data, _ = DisplayFormatter().format(box)
    assert data[WIDGET_VIEW] == widget_output(box.model_id)[WIDGET_VIEW]


def test_the_type_of_a_widgets_view_is_written_once():
    files = [path for name in ("course_lib", "tools") for path in (ROOT / name).rglob("*.py")]
    found = [path for path in files if WIDGET_VIEW in path.read_text("utf-8")]
    assert found == [ROOT / "course_lib" / "widget_output.py"]
