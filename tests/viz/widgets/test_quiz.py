import re

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.widgets.quiz import markup, predict_shape, quiz

CHOICES = ["the rows", "the columns, `dim=-2`", "neither <b>"]


def question(answer="b", **more):
    return quiz("What sums to `one`?", CHOICES, answer, "Softmax ran over $dim=-2$.", **more)


def shape_question():
    return predict_shape("What comes out?", (2, 8, 5), "A row for each query.", code="q @ k.mT")


def test_a_stored_quiz_is_the_question_with_its_answer_folded_and_no_control():
    data = question()._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {"text/html", "text/plain"}
    stored = data["text/html"].split("<span hidden", 1)[0]
    assert not re.search("<(button|input|form)", stored)
    shown, folded = stored.split("<details>")
    assert "Softmax" not in shown
    assert "<li><b>b)</b> <span>the columns, <code>dim=-2</code></span></li>" in shown
    assert folded.startswith("<summary>Answer</summary><p>b) the columns, <code>dim=-2</code>. ")
    assert "Softmax ran over $dim=-2$." in folded
    assert data["text/plain"] == (
        "What sums to `one`?\n  a) the rows\n  b) the columns, `dim=-2`\n  c) neither <b>"
    )


def test_markup_in_a_question_is_escaped():
    shown = question(code="if a < b: pass").to_html()
    assert "neither &lt;b&gt;" in shown and "<code>if a &lt; b: pass</code></pre>" in shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the *wrong* sources", "the <em>wrong</em> sources"),
        ("**all** of *it*, `here`", "<strong>all</strong> of <em>it</em>, <code>here</code>"),
        ("*the `x` axis*", "<em>the <code>x</code> axis</em>"),
        ("`x[:, *shape]` and `2 * 3 * 4`", "<code>x[:, *shape]</code> and <code>2 * 3 * 4</code>"),
        ("2 * 3 and 4 * 5", "2 * 3 and 4 * 5"),
        ("d_model and d_head", "d_model and d_head"),
        (r"$a*b$ and $c*d$", "$a*b$ and $c*d$"),
        (r"$x < \sqrt{d_\text{head}}$", r"$x &lt; \sqrt{d_\text{head}}$"),
        ("*<img src=x onerror=alert(1)>*", "<em>&lt;img src=x onerror=alert(1)&gt;</em>"),
        ("`</code><script>`", "<code>&lt;/code&gt;&lt;script&gt;</code>"),
        ("$</p><script>$", "$&lt;/p&gt;&lt;script&gt;$"),
        ("one *star", "one *star"),
    ],
)
def test_code_emphasis_and_formulas_are_shown_and_the_rest_is_escaped(text, expected):
    assert markup(text) == expected


def test_emphasis_is_shown_in_question_choices_and_answer():
    asked = quiz("*Which* one?", ["the *first*", "none"], "a", "It is *first*.")
    shown, folded = asked.to_html().split("<details>")
    assert "<em>Which</em> one?" in shown and "<span>the <em>first</em></span>" in shown
    assert folded.count("<em>first</em>") == 2


@pytest.mark.parametrize("answer", ["b", 1, CHOICES[1]])
def test_the_answer_is_a_letter_an_index_or_its_words(answer):
    assert 'data-right="1"' in question(answer).to_html()


@pytest.mark.parametrize("answer", ["d", 3, -1, "both", ""])
def test_an_answer_that_is_not_a_choice_is_refused(answer):
    with pytest.raises(CourseError, match="a letter from a to c, an index from 0 to 2 or one of"):
        question(answer)


@pytest.mark.parametrize("choices", [["one"], ["same", "same"], list("abcdefghi")])
def test_a_quiz_without_a_choice_is_refused(choices):
    with pytest.raises(CourseError, match="2 to 8 different choices, got"):
        quiz("Which?", choices, "a", "Because.")


@pytest.mark.parametrize(("asked", "why", "missing"), [(" ", "w", "question"), ("q", "", "why")])
def test_a_missing_text_is_refused(asked, why, missing):
    with pytest.raises(CourseError, match=f"{missing} must be a sentence or two"):
        quiz(asked, ["a", "b"], "a", why)
    with pytest.raises(CourseError, match=f"{missing} must be a sentence or two"):
        predict_shape(asked, (1,), why)


@pytest.mark.parametrize(
    ("shape", "attribute"), [((2, 8, 5), "2,8,5"), ((7,), "7"), (torch.tensor(1.0).shape, "")]
)
def test_the_script_finds_the_right_shape(shape, attribute):
    asked = predict_shape("The loss?", shape, "A mean is one number.")
    assert f'data-shape="{attribute}"' in asked.to_html()


def test_a_stored_shape_question_folds_its_answer():
    data = shape_question()._repr_mimebundle_()
    assert data["text/plain"] == "What comes out?\nq @ k.mT"
    assert "<details><summary>Answer</summary><p>(2, 8, 5). " in data["text/html"]


@pytest.mark.parametrize("shape", [(2, -1), ("B", 2), (1.0, 2)])
def test_a_shape_with_other_values_than_sizes_is_refused(shape, own_messages):
    with pytest.raises(CourseError, match=r"whole numbers, got .*: pass x\.shape"):
        predict_shape("What?", shape, "Because.")
