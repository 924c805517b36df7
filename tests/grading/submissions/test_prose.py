"""What is words in a code cell, and what is code."""

import pytest

from course_lib.grading.submissions.prose import words_in


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("The rows are queries, and a pad is a key.", "The rows are queries, and a pad is a key."),
        ("# the columns", "the columns"),
        ("#the columns are keys\n#\n# and pads", "the columns are keys\nand pads"),
        ("'''The columns.\nNot the rows.'''", "The columns.\nNot the rows."),
        ('print("""The columns are\nthe keys""")', "The columns are\nthe keys"),
        ("print('The columns are the keys')", "The columns are the keys"),
        ("- the columns = keys\n- softmax(x) is over them", None),
        ("If a row is masked, it has no softmax: all of it is -inf", None),
        ("因为填充是键而不是查询", None),
        ("Потому что паддинг - это ключи", None),
        ("Porque a máscara vale para as chaves", None),
    ],
)
def test_sentences_are_words_however_they_are_typed(source, words):
    found, has_code = words_in(source)
    assert found == words or (words is None and found)
    assert not has_code


@pytest.mark.parametrize(
    "source",
    [
        "",
        "import math",
        "from course_lib.model import (\n    padding_mask,\n)",
        "# x = padding_mask(tokens, 0)\n# print(x.shape)",
        "x, y = 1, 2\nx: int = 3\nx += 1",
        "for row in x: print(row)\nwhile x: break\nif x: y = 3",
        "for row in x:\n    print(row)\nelse:\n    pass",
        "print('shape', x.shape)",
        "causal_mask(5)[0, 0]",
        "%matplotlib inline\n!pip install x",
        "assert x is not None",
        "del x",
        "def f(x):\n    return x\nclass C(nn.Module):\n    pass",
        "# the first one\nx = torch.ones(2)",
    ],
)
def test_code_is_no_answer_in_words(source):
    assert words_in(source)[0] == ""


def test_a_long_comment_counts_beside_code_too():
    comment = "# The columns belong to the keys, and pads are keys, so columns go.\nx = 3"
    found, has_code = words_in(comment)
    assert found.startswith("The columns belong")
    assert has_code


@pytest.mark.parametrize(
    "line",
    [
        "x:" + " " * 480 + ";ab cd",
        "for" + " " * 240 + "in" + " " * 240 + "!ab cd",
        "for" + " in" * 160,
        "a" * 500,
        "x(" + "]" * 490 + "a b",
        "if" + ":" * 490 + "a b",
    ],
)
def test_no_line_keeps_the_grader_busy(line):
    # Tried in all ways to share the spaces, the second takes minutes for a single line.
    words, _ = words_in("\n".join([line] * 40))
    assert {*words.split("\n")} <= {"", " ".join(line.split())}
