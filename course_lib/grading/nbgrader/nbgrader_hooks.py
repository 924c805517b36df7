"""What nbgrader runs instead of its own steps; ``nbgrader_settings`` names these classes."""

from __future__ import annotations

from typing import Any

from bs4 import BeautifulSoup, Tag
from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.plugins import CsvExportPlugin

from course_lib.errors import CourseError
from course_lib.grading.nbgrader.autograded import INSTRUCTOR
from course_lib.grading.nbgrader.feedback_look import give_look

# Nothing runs and nothing is fetched, whatever a page contains; its styles and pictures are in it.
CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'"
)
_ACTIVE = ("script", "iframe", "frame", "object", "embed", "form", "meta", "link", "base", "svg")
_HARMLESS = {
    *("class", "id", "name", "title", "alt", "lang", "open", "role", "tabindex", "type"),
    *("colspan", "rowspan", "align", "width", "height"),
}
_ADDRESSES = {"href": ("#", ".", "http://", "https://", "mailto:"), "src": ("data:image/",)}


class RefuseToRun(NotebookExporter):
    """Ends `nbgrader autograde` at its start: it would run what was handed in as your own code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.log.error(
            "nbgrader autograde is switched off in this course folder, because it would run what "
            "students handed in as your own code. Grade with `course grade FOLDER --assignment "
            "NAME --gradebook COURSE_FOLDER`: that runs it in a jail and brings the points here."
        )
        raise NbGraderException("switched off: use course grade")


class ExportWhatIsMarked(CsvExportPlugin):  # type: ignore[misc]  # nbgrader has no types
    """nbgrader's export, which refuses while a submission has points that nobody knows yet."""

    def export(self, gradebook: Gradebook) -> None:
        """Write nbgrader's CSV file.

        Raises:
            CourseError: a person has to mark something; it would be exported as 0.
        """
        waiting = [
            f"{submission.student.id} ({assignment.name})"
            for assignment in gradebook.assignments
            for submission in assignment.submissions
            if submission.needs_manual_grade
        ]
        if waiting:
            raise CourseError(
                f"expected everything to be marked, and {len(waiting)} submissions are not, whose "
                f"missing points would count as 0: {', '.join(waiting[:10])}; mark them in "
                "formgrader, or export with --ExportApp.plugin_class="
                "nbgrader.plugins.CsvExportPlugin"
            )
        super().export(gradebook)


class WithoutInstructorCells(Preprocessor):
    """Leave out of feedback what is for instructors: rubrics, flags, and notes."""

    enabled = True

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """The notebook without the cells that have the instructor's tag."""
        notebook.cells = [c for c in notebook.cells if INSTRUCTOR not in c.metadata.get("tags", [])]
        return notebook, resources


class FeedbackExporter(HTMLExporter):
    """nbgrader's feedback page, in which nothing runs and which loads nothing."""

    def from_notebook_node(  # type: ignore[override]  # as HTMLExporter's own
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page, and nbconvert's resources."""
        page, resources = super().from_notebook_node(nb, resources, **options)
        return inactive(page), resources


def inactive(page: str) -> str:
    """A page without scripts, event handlers, frames, forms and what would be fetched, in the look
    of the course.
    """
    soup = BeautifulSoup(page, features="html.parser")
    for element in [*soup.find_all(_ACTIVE), *soup.select("body style")]:
        element.decompose()
    for element in soup.find_all(True):
        _keep_harmless_attributes(element)
    if soup.head is not None:
        policy = {"http-equiv": "Content-Security-Policy", "content": CONTENT_POLICY}
        soup.head.insert(0, soup.new_tag("meta", attrs={"charset": "utf-8"}))
        soup.head.insert(1, soup.new_tag("meta", attrs=policy))
    give_look(soup)
    return str(soup)


def _keep_harmless_attributes(element: Tag) -> None:
    for name, value in list(element.attrs.items()):
        if name not in _HARMLESS and not str(value).startswith(_ADDRESSES.get(name, ())):
            del element.attrs[name]
