"""Who may need help: by the points that are known, and by what was handed in."""

from course_lib.grading.marks.class_marks import mark_assignment
from course_lib.grading.reports.report_command import misconception_sentence
from course_lib.grading.reports.report_page import report_page
from course_lib.grading.reports.standings import class_standings, who_may_need_help
from tests.grading.made_results import item_result, submission_result, to_be_marked


def assignment(name, **points):
    """One item of 4 points each; None is to be marked, "unread" could not be read."""
    results = []
    for student, each in sorted(points.items()):
        about = {"assignment": name}
        if each == "unread":
            results.append(submission_result(student, notebook="", **about))
        elif each is None:
            results.append(submission_result(student, to_be_marked(most=4), **about))
        else:
            item = item_result("06.causal_mask", each, most=4, status="not yet")
            results.append(submission_result(student, item, **about))
    return mark_assignment(name, results)


def names(*assignments):
    return [each.student for each in who_may_need_help(class_standings(assignments))]


def test_who_has_less_than_half_of_the_known_points_may_need_help_and_the_least_come_first():
    assert names(assignment("06_masks", ana=1.0, bo=0.0, cy=2.0, di=4.0)) == ["bo", "ana"]


def test_what_is_not_marked_yet_counts_for_nobody_and_against_nobody():
    first = assignment("06_masks", ana=None, bo=4.0, cy="unread")
    assert names(first, assignment("07_blocks", ana=3.0, bo=None, cy=4.0)) == []


def test_who_handed_in_less_than_half_may_need_help_whatever_the_points():
    lessons = ("05_attention_einsum", "06_masks", "07_blocks")
    first, *rest = (assignment(name, ana=4.0) for name in lessons)
    both = assignment(lessons[0], ana=4.0, bo=4.0)
    assert first.marks and names(both, *rest) == ["bo"]
    text = report_page([both, *rest], misconception_sentence)
    assert "<bdi>bo</bdi><small>nothing handed in for 06_masks, 07_blocks</small>" in text


def test_half_of_the_assignments_is_enough():
    assert names(assignment("06_masks", ana=4.0, bo=4.0), assignment("07_blocks", ana=4.0)) == []


def test_the_page_says_what_is_known_of_whoever_may_need_help():
    item = item_result("06.causal_mask", 0.0, most=4, misconceptions=("past_hidden",))
    unstarted = item_result("06.decoder_mask", 0.0, status="not started")
    ana = submission_result("<b>ana</b>", item, unstarted)
    text = report_page([mark_assignment("06_masks", [ana])], misconception_sentence)
    assert "&lt;b&gt;ana&lt;/b&gt;</bdi><small>1 item not started; 1 misconception<" in text
    assert "0 <small>of 6</small>" in text


def test_the_page_says_so_where_nobody_needs_help():
    text = report_page([assignment("06_masks", ana=4.0)], misconception_sentence)
    assert "Everybody has at least half of the points that are known so far." in text
