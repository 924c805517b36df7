"""What hints and misconceptions say of a lesson is there: its questions, headings and numbers."""

import re

import pytest

from course_lib.checks import load_items
from course_lib.checks.table import TOPICS
from tools import ROOT
from tools.notebooks.notebook_normal_form import read

QUESTION = re.compile(r"\bQ(\d+)([a-z])\b")
LESSON = re.compile(r"\blesson (\d\d)\b", re.IGNORECASE)
NUMBERS = re.compile(r"\d+")


def sections(lesson):
    """The text of each question of a lesson, code and outputs aside, by its letter."""
    path = next(ROOT.joinpath("notebooks").glob(f"{lesson}_*.ipynb"))
    text = "\n".join(cell.source for cell in read(path).cells)
    parts = re.split(r"^## (?:Q\d+([a-z])\.)?", text, flags=re.MULTILINE)
    return {letter: part for letter, part in zip(parts[1::2], parts[2::2], strict=True) if letter}


def texts():
    """(item, text) of each hint and each text of a misconception."""
    for lesson in TOPICS:
        for item in load_items(lesson).values():
            yield from ((item.id, hint) for hint in item.hints)
            for told in item.misconceptions:
                yield from ((item.id, each) for each in (told.symptom, told.why, told.hint))


REFERENCES = [
    (item, text, number.zfill(2), letter)
    for item, text in texts()
    for number, letter in QUESTION.findall(text)
]


def test_enough_is_found_for_these_tests_to_mean_something():
    assert len(REFERENCES) >= 8


@pytest.mark.parametrize(("item", "text", "lesson", "letter"), REFERENCES)
def test_a_question_that_a_text_names_is_one_of_an_earlier_lesson_or_its_own(
    item, text, lesson, letter
):
    assert lesson <= item[:2]
    assert letter in sections(lesson)


def test_the_numbers_that_a_hint_quotes_from_a_question_are_there():
    (hint,) = (text for item, text, *_ in REFERENCES if item == "03.layer_norm")
    quoted = NUMBERS.findall(hint.partition("Q3c")[2])
    assert quoted == ["1", "2", "3", "6"]
    assert f"({', '.join(quoted)})" in sections("03")["c"]


def test_a_lesson_that_a_text_names_exists():
    named = {number for _, text in texts() for number in LESSON.findall(text)}
    assert named and named <= TOPICS.keys()
