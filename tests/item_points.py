"""What items and lessons are worth by the course's table, so that no test repeats its numbers."""

from course_lib.checks import TABLE


def items_of(lesson):
    """The rows of a lesson's items, "06"."""
    return [entry for entry in TABLE.values() if entry.id.startswith(f"{lesson}.")]


def checked_items(lesson):
    """Those of them that no person marks."""
    return [entry for entry in items_of(lesson) if entry.kind != "written"]


def points_of(*items):
    """The points of these items together."""
    return sum(TABLE[item].points for item in items)


def all_points(lesson):
    """The points of all items of a lesson."""
    return sum(entry.points for entry in items_of(lesson))


def checked_points(lesson):
    """The points of those that no person marks."""
    return sum(entry.points for entry in checked_items(lesson))


def in_full(*items):
    """The points of each of these items, as a result has them where they are right."""
    return {item: float(points_of(item)) for item in items}
