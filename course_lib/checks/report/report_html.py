"""The feedback to a learner as cards in a notebook: first what is wrong, then the tests."""

from __future__ import annotations

import html
import os
import re
from typing import TYPE_CHECKING

from course_lib.checks.diagnosis.trial import Trial
from course_lib.checks.progress import Progress, under_nbgrader
from course_lib.checks.report.remarks import (
    PRINTED,
    SIGNS,
    Finding,
    Remark,
    describe_difference,
)
from course_lib.errors import CourseError

if TYPE_CHECKING:
    from course_lib.checks.report.feedback import Report

PLAIN_LIST = "list-style:none;padding-left:0"  # where a page takes out style sheets, too
_VERDICTS = {"passed": "right", "not yet": "wrong", "not started": "open"}
_WORDS = {"✓": ("right", "passed"), "✗": ("wrong", "failed"), "–": ("open", "fails, too")}


def html_of(report: Report) -> str:
    """A report as HTML, with the style of all cards of the course."""
    # Loads Matplotlib: only where a page is shown.
    from course_lib.viz.cards import card_style

    diagnosis = report.diagnosis
    parts = [_title(report), *(_finding_or_remark(each) for each in report.diagnosed())]
    if report.example and report.to_try:
        parts += [_remark(report.to_try), _code(report.example.code)]
    if diagnosis.status == "not yet":
        parts.append(folded_hints(diagnosis.item.hints))
    if report.tests:
        parts.append(_tests(report))
    if report.printed:
        parts += [f"<p><em>{PRINTED}.</em></p>", _code("\n".join(report.printed))]
    parts.append(_last_line(report))
    # role=status makes a screen reader announce the report when it appears.
    return (
        f'{card_style()}<div class="course-card course-report" role="status">{"".join(parts)}</div>'
    )


def _title(report: Report) -> str:
    status = report.diagnosis.status
    tinted = " course-finding" if report.passed else ""
    return (
        f'<p class="course-title{tinted}" data-verdict="{_VERDICTS[status]}">'
        f"<strong>{html.escape(report.name)}: "
        f'<span class="course-verdict">{SIGNS[status]} {status}</span></strong>'
        f"{_words(report.advice)}</p>"
    )


def _finding_or_remark(each: Finding | Remark) -> str:
    if isinstance(each, Remark):
        return _remark(each)
    first, *more = each
    return (
        f'<div class="course-finding" data-verdict="wrong">'
        f"<p><em>{first.label}.</em> <strong>{_words(first.text)}</strong></p>"
        f"{''.join(map(_remark, more))}</div>"
    )


def _remark(remark: Remark) -> str:
    return f"<p><em>{html.escape(remark.label)}.</em> {_words(remark.text)}</p>"


def _words(text: str) -> str:
    """A text with its lines, and what it has in backticks as code."""
    code = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text))
    return code.replace("\n", "<br>")


def _code(text: str) -> str:
    return f'<pre class="course-example">{html.escape(text)}</pre>'


def _tests(report: Report) -> str:
    """All tests, folded below how many of them pass."""
    rows = "".join(_test(report, trial) for trial in report.diagnosis.trials)
    after = _remark(report.other_tests) if report.other_tests else ""
    return (
        f'<details class="course-tests"><summary>{report.tests}</summary>'
        f'<ul class="course-rows" style="{PLAIN_LIST}">{rows}</ul>{after}</details>'
    )


def _test(report: Report, trial: Trial) -> str:
    sign = report.sign(trial)
    verdict, word = _WORDS[sign]
    return (
        f'<li class="course-row" data-verdict="{verdict}">'
        f'<span class="course-verdict">{sign} {word}</span> '
        f"<span>{_words(trial.probe.property)}{_difference(report, trial)}</span></li>"
    )


def _difference(report: Report, trial: Trial) -> str:
    """The first difference of a test, with both shapes drawn if they differ."""
    difference = report.shown_difference(trial)
    if difference is None:
        return ""
    text = f"<br><code>{html.escape(describe_difference(difference))}</code>"
    if difference.expected_shape is None or difference.got_shape is None:
        return text
    drawn = (
        f"<tr><td>{label}</td>{_boxes(shape)}</tr>"
        for label, shape in (("expected", difference.expected_shape), ("got", difference.got_shape))
    )
    return f"{text}<table>{''.join(drawn)}</table>"


def _last_line(report: Report) -> str:
    words = [f"{report.worth}." if report.tests else "", _progress(report.entry.id[:2])]
    return f'<p class="course-aside">{html.escape(" ".join(filter(None, words)))}</p>'


def _progress(lesson: str) -> str:
    """How far the learner is, and what is next, this lesson's items first; not in outputs that are
    stored for others.
    """
    if os.environ.get("COURSE_QUIET") or under_nbgrader():
        return ""
    try:
        progress = Progress()
    except CourseError:  # no home folder: the report matters more
        return ""
    done = f"{len(progress.passed)} of {progress.size} items passed."
    return f"{done} {progress.next(lesson)}"


def _boxes(shape: tuple[int, ...]) -> str:
    cell = '<td style="border:1px solid currentColor;padding:.2em .8em;text-align:center">'
    return "".join(f"{cell}{size}</td>" for size in shape) or f"{cell}a single number</td>"


def folded_hints(hints: tuple[str, str, str]) -> str:
    """Three hints, each folded inside the one before, so that you see only what you ask for."""
    names = ("A nudge", "An approach", "Almost the code")
    folded = ""
    for name, text in reversed(list(zip(names, hints, strict=True))):
        folded = f"<details><summary>{name}</summary><p>{_words(text)}</p>{folded}</details>"
    return folded
