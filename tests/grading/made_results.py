"""Results made by hand, for tests in which nothing is graded."""

from course_lib.grading.results import ItemResult, SubmissionResult


def item_result(item_id, points, *, most=2, **fields):
    """An item's result: "passed" with all its points, "not run" with None, "not yet" otherwise."""
    status = "passed" if points == most else "not run" if points is None else "not yet"
    about = {"title": "t", "status": status, "most": most}
    return ItemResult(id=item_id, points=points, **about | fields)


def to_be_marked(item_id="06.why_not_rows", text="Because.", **fields):
    """The result of an answer in words."""
    return item_result(item_id, None, status="to be marked", text=text, **fields)


def submission_result(student, *items, **fields):
    """A submission's result with these items; with ``notebook=""`` nothing could be read."""
    about = {"assignment": "06_masks", "isolation": "none", "key": "k", "notebook": "n.ipynb"}
    return SubmissionResult(student=student, items=items, **about | fields)
