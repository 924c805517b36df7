"""nbgrader's settings for this course: the stubs of hand-outs, safe feedback, and no execution.

A course folder's nbgrader_config.py calls `configure`, so that the settings have one home.
"""

from __future__ import annotations

from typing import Any

CODE_STUB = "raise NotImplementedError  # your code here"
TEXT_STUB = "*Your answer here.*"

CONFIG_FILE = "nbgrader_config.py"
CONFIGURATION = """\
# Read by every nbgrader command that is started in this folder, and by formgrader.
from course_lib.grading.nbgrader.nbgrader_settings import configure

c = get_config()  # noqa: F821
configure(c)
# Your own settings, such as c.CourseDirectory.course_id = "transformers", go below.
"""
_HOOKS = "course_lib.grading.nbgrader.nbgrader_hooks"


def configure(config: Any) -> None:
    """Set, in nbgrader's ``config``, all that this course needs.

    - Hand-outs that `nbgrader generate_assignment` makes have the stubs of the course's exercises.
    - `nbgrader autograde` refuses, since it would run what was handed in as your own code.
    - `nbgrader generate_feedback` makes pages in which nothing runs and that load nothing.
    - `nbgrader export` refuses while something is not marked.
    """
    config.ClearSolutions.code_stub = {"python": CODE_STUB}
    config.ClearSolutions.text_stub = TEXT_STUB
    config.Autograde.exporter_class = f"{_HOOKS}.RefuseToRun"
    config.GenerateFeedback.exporter_class = f"{_HOOKS}.FeedbackExporter"
    config.ExportApp.plugin_class = f"{_HOOKS}.ExportWhatIsMarked"
    config.GenerateFeedback.preprocessors = [
        f"{_HOOKS}.WithoutInstructorCells",
        "nbgrader.preprocessors.GetGrades",
        "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
    ]


def configured(config: Any) -> bool:
    """Whether ``configure`` was called on a configuration and is still in force."""
    return bool(
        config.Autograde.exporter_class == f"{_HOOKS}.RefuseToRun"
        and config.GenerateFeedback.exporter_class == f"{_HOOKS}.FeedbackExporter"
    )
