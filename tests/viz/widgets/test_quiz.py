import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.widgets.quiz import markup, parse_shape, predict_shape, quiz
from course_lib.widget_output import WIDGET_VIEW

CHOICES = ["the rows", "the columns, `dim=-2`", "neither <b>"]


def question(answer="b", **more):
    return quiz("What sums to `one`?", CHOICES, answer, "Softmax ran over $dim=-2$.", **more)


def shape_question():
    return predict_shape("What comes out?", (2, 8, 5), "A row for each query.", code="q @ k.mT")


def test_the_correct_button_confirms_the_answer_and_says_why():
    asked = question()
    asked.buttons[1].click()
    assert asked.feedback == "✓ b) is right. Softmax ran over $dim=-2$."
    assert 'role="status"' in asked.status.value
    assert [button.button_style for button in asked.buttons] == ["", "success", ""]


def test_a_wrong_button_does_not_give_the_answer_away():
    asked = question()
    asked.buttons[0].click()
    assert asked.feedback == "✗ a) is not right. Try again."
    asked.buttons[2].click()
    assert asked.feedback.startswith("✗ c)")
    assert [button.button_style for button in asked.buttons] == ["", "", "warning"]


def test_the_answer_can_be_revealed():
    asked = question()
    asked.reveal.click()
    assert asked.feedback == "b) the columns, `dim=-2`. Softmax ran over $dim=-2$."


def test_a_stored_quiz_is_the_question_with_its_answer_folded():
    data, _ = question()._repr_mimebundle_(include=None, exclude=None)
    assert set(data) == {WIDGET_VIEW, "text/html", "text/plain"}
    shown, folded = data["text/html"].split("<details>")
    assert "Softmax" not in shown and "<li>b) the columns, <code>dim=-2</code></li>" in shown
    assert folded.startswith("<summary>Answer</summary>") and "b) the columns" in folded
    assert data["text/plain"] == (
        "What sums to `one`?\n  a) the rows\n  b) the columns, `dim=-2`\n  c) neither <b>"
    )


def test_markup_in_a_question_is_escaped():
    data, _ = question(code="if a < b: pass")._repr_mimebundle_()
    assert "neither &lt;b&gt;" in data["text/html"]
    assert "<pre><code>if a &lt; b: pass</code></pre>" in data["text/html"]


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
    shown, folded = asked._repr_mimebundle_()[0]["text/html"].split("<details>")
    assert "<em>Which</em> one?" in shown and "<li>a) the <em>first</em></li>" in shown
    assert folded.count("<em>first</em>") == 2
    asked.buttons[0].click()
    assert "<em>first</em>" in asked.status.value


def test_each_button_gives_a_screen_reader_the_whole_answer():
    tooltips = [button.tooltip for button in question().buttons]
    assert tooltips == ["the rows", "the columns, dim=-2", "neither <b>"]
    assert [button.description for button in question().buttons] == ["a", "b", "c"]


@pytest.mark.parametrize("answer", ["b", 1, CHOICES[1]])
def test_the_answer_is_a_letter_an_index_or_its_words(answer):
    assert question(answer).right == 1


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
    "text",
    ["(2, 8, 5)", "2,8,5", "[2, 8, 5]", "2×8×5", "2 x 8 x 5", "torch.Size([2, 8, 5])", "2 8 5 "],
)
def test_a_shape_may_be_written_in_many_ways(text):
    asked = shape_question()
    asked.typed.value = text
    assert asked.feedback == "✓ (2, 8, 5) is right. A row for each query."


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("(2, 5)", "you gave 2 axes, it has 3 axes"),
        ("7", "(7,) is not right: you gave 1 axis, it has 3 axes"),
        ("(2, 5, 8)", "these are the right sizes, in another order"),
        ("(2, 8, 6)", "look again at axis 2, counted from 0"),
        ("(1, 7, 6)", "look again at axes 0, 1 and 2, counted from 0"),
        ("()", "() is not right: you gave 0 axes, it has 3 axes"),
    ],
)
def test_a_wrong_shape_gets_a_hint_what_to_look_at(text, hint):
    asked = shape_question()
    asked.typed.value = text
    assert asked.feedback.startswith("✗") and hint in asked.feedback
    assert "2, 8, 5" not in asked.feedback


@pytest.mark.parametrize(
    "text",
    [
        "B, T",
        "__import__('os')",
        "2**3**99",
        "-1, 2",
        "1.5",
        "<img src=x onerror=alert(1)>",
        "９９a",
    ],
)
def test_text_that_is_not_a_shape_is_neither_run_nor_shown_as_markup(text):
    asked = shape_question()
    asked.typed.value = text
    assert "a shape is whole numbers separated by commas" in asked.feedback
    assert "<img" not in asked.status.value


def test_an_empty_text_is_not_a_shape():
    with pytest.raises(CourseError, match="such as \\(2, 3\\), got ''"):
        parse_shape("")


def test_a_shape_without_axes_can_be_asked_for():
    asked = predict_shape("The loss?", torch.tensor(1.0).shape, "A mean is one number.")
    asked.typed.value = "()"
    assert asked.feedback.startswith("✓ () is right")


def test_a_stored_shape_question_folds_its_answer():
    data, _ = shape_question()._repr_mimebundle_()
    assert data["text/plain"] == "What comes out?\nq @ k.mT"
    assert "<details><summary>Answer</summary><p>(2, 8, 5). A row" in data["text/html"]


@pytest.mark.parametrize("shape", [(2, -1), ("B", 2), (1.0, 2)])
def test_a_shape_with_other_values_than_sizes_is_refused(shape, own_messages):
    with pytest.raises(CourseError, match=r"whole numbers, got .*: pass x\.shape"):
        predict_shape("What?", shape, "Because.")


def test_each_answer_of_a_question_is_counted():
    for asked, act in (
        (question(), lambda q: q.choose(0)),
        (shape_question(), lambda q: q.submit("2")),
    ):
        act(asked)
        asked.reveal.click()
        assert asked.watch.answers == 2
        assert asked.watch in asked.box.children
