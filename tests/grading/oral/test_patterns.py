"""Patterns find what they say, and no source, however it was made, ends the search."""

import time

import pytest

from course_lib.errors import CourseError
from course_lib.grading.oral.patterns import MOST_SOURCE, find_lines, parse_pattern, parse_untrusted


def lines(source, *patterns):
    return find_lines(parse_untrusted(source), patterns)


@pytest.mark.parametrize(
    ("pattern", "fits", "differs"),
    [
        ("_.softmax(...)", "scores.softmax(dim=-1)", "scores.log_softmax(dim=-1)"),
        ("_.softmax(...)", "F.softmax(x, -1)", "softmax(x, -1)"),
        ("_.item()", "loss.detach().item()", "loss.item(1)"),
        ("F.relu(_)", "F.relu(self.expand(x))", "F.relu(x, True)"),
        ("_.sum(..., dim=1)", "x.sum(keepdim=True, dim=1)", "x.sum(dim=2)"),
        ("_.sum(dim=1)", "x.sum(dim=1)", "x.sum(dim=1, keepdim=True)"),
        ("self._[:_]", "self.table[: x.size(1)]", "self.table[1 : x.size(1)]"),
        ("_[:, None, None]", "mask[:, None, None]", "mask[:, None]"),
        ("10000 ** _", "10_000 ** angle", "10_000.0 ** angle"),
        ("_[:, 0::2] = _", "table[:, 0::2] = a.sin()", "table[:, 1::2] = a.sin()"),
        ("if _: ...", "if step < warmup:\n    rate = 1\n    rate += 1", "while a: pass"),
        ("_ & _", "a & b", "a | b"),
        ("x + _", "x + f(x)", "y + f(x)"),
        ("[_, ...]", "[1, 2, 3]", "[]"),
    ],
)
def test_a_pattern_fits_code_of_its_form_and_no_other(pattern, fits, differs):
    assert lines(fits, pattern) == [1]
    assert lines(differs, pattern) == []


def test_lines_are_those_where_what_fits_begins_sorted_and_once():
    source = "def f(x):\n    y = x.view(1)\n    return g(x.view(2), x.view(\n        3))\n"
    assert lines(source, "_.view(...)", "_.view(3)") == [2, 3]


@pytest.mark.parametrize("pattern", ["", "a(", "a; b", "x = "])
def test_a_pattern_that_is_no_single_expression_or_statement_is_refused(pattern):
    with pytest.raises(CourseError, match="expected a pattern that is one expression or statement"):
        parse_pattern(pattern)


HOSTILE = {
    "a megabyte in a line": "x = '" + "a" * 1_000_000 + "'",
    "brackets": "(" * 5_000 + ")" * 5_000,
    "signs": "-" * 15_000 + "1",
    "words": "not " * 4_500 + "x",
    "attributes": "a" + ".a" * 9_000,
    "sums": "1" + "+1" * 9_000,
    "calls": "f" + "()" * 9_000,
    "powers": "2" + "**2" * 5_000,
    "blocks": "".join(" " * n + "if x:\n" for n in range(190)) + " " * 190 + "x",
    "lambdas": "lambda:" * 2_500 + "x",
    "null bytes": "x = 1\0\ny = 2",
    "a number": "x = " + "9" * 15_000,
    "no Python": "Ich weiß es nicht.",
    "half a string": "x = '''",
    "an f-string": "f'" + "{" * 200 + "}" * 200 + "'",
    "escapes": "x = '\\N{no such}'",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_no_source_ends_or_delays_the_search(source):
    start = time.process_time()
    tree = parse_untrusted(source)
    found = find_lines(tree, ["_.softmax(...)", "_ + _", "_[_]"]) if tree else []
    assert isinstance(found, list)
    assert time.process_time() - start < 2.0


def test_a_command_of_ipython_hides_no_line():
    assert lines("%matplotlib inline\n!ls\nx.view(1)", "_.view(...)") == [3]
    assert parse_untrusted("x = 1\n" * (MOST_SOURCE // 6 + 1)) is None
