"""Results made by hand, and what nbgrader makes of them: for tests that need no jail."""

import json
import re

from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from course_lib.grading.class_run.grade import read_hand_in
from course_lib.grading.results import PropertyResult
from tests.grading.made_results import item_result, submission_result, to_be_marked
from tests.grading.notebooks_to_hand_in import RIGHT, answered

WRITTEN = "06-why-not-rows-written"
ACTIVE = ("script", "svg", "iframe", "object", "embed", "base", "link", "form")


def hand_in(folder, notebook, exercise, *, written="", answers=RIGHT):
    """Write a notebook with these answers into a student's folder, and read it back."""
    folder.mkdir(parents=True, exist_ok=True)
    both = answers | ({WRITTEN: written} if written else {})
    text = json.dumps(answered(notebook, both))
    (folder / "masks.ipynb").write_text(text, encoding="utf-8")
    return read_hand_in(folder, exercise)


def result_of(exercise, student="ana", *, points=None, written="", note="", **changes):
    """A result with these points by item; of other items none, and of words the text."""
    items = [
        item(task.entry, (points or {}).get(task.entry.id, 0.0), note) for task in exercise.tasks
    ]
    if written:
        last = exercise.tasks[-1].entry
        items[-1] = to_be_marked(last.id, written, title=last.title, most=last.points)
    about = {"assignment": exercise.assignment, "isolation": "bubblewrap"}
    about |= {"notebook": "masks.ipynb", "notes": (note,) if note else ()}
    return submission_result(student, *items, **about | changes)


def item(entry, points, note=""):
    """The result of one item: passed, not yet, or not run where the points are None."""
    about = {"title": entry.title, "most": entry.points}
    if entry.kind == "written":
        return item_result(entry.id, 0.0, status="no answer", **about)
    if points is None:
        return item_result(entry.id, None, reason=note or "no time is left", **about)
    tests = (PropertyResult("it holds"), PropertyResult("it is right", note or "expected 1, got 2"))
    flags = (note,) if note else ()
    return item_result(entry.id, points, tests=tests, flags=flags, **about)


def unreadable(exercise, student="ana", note="expected a notebook"):
    """The result of something that is no notebook."""
    about = {"assignment": exercise.assignment, "notebook": "", "notes": (note,)}
    return submission_result(student, **about)


def shown_in_formgrader(path):
    """The page that formgrader makes of a notebook, as its handler makes it."""
    config = Config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    about = {"assignment_id": "06_masks", "notebook_id": "masks", "submission_id": "s", "index": 0}
    about |= {"total": 1, "base_url": "", "student": "ana", "last_name": "", "first_name": ""}
    exporter = HTMLExporter(config=config)
    return exporter.from_filename(str(path), resources={**about, "notebook_path": "x"})[0]


def activity(page):
    """What in a page can run or fetch something: its elements, handlers and addresses, sorted."""
    found = []
    for element in BeautifulSoup(page, "html.parser").find_all(True):
        if element.name in ACTIVE:
            found.append(f"{element.name}: {element.get('src') or element.string}")
        for name, value in element.attrs.items():
            addresses = name in ("src", "srcset", "srcdoc", "xlink:href")
            leads_away = name == "href" and not re.match(r"#|\.\./", value)
            fetches = name == "style" and "url" in value
            if name.startswith("on") or addresses or leads_away or fetches:
                found.append(f"{element.name} {name}={value}")
    return sorted(found)
