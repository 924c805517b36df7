from pathlib import Path

import pytest

from tests.tools.notebooks.sample_notebooks import bundle, code, markdown, notebook, stream
from tools import ROOT
from tools.claims import prose_numbers
from tools.claims.prose_numbers import (
    classified,
    computed,
    constants,
    facts,
    numbers,
    prose_numbers_have_a_source,
)
from tools.notebooks.notebook_normal_form import read, to_bytes

LESSON = Path("notebooks/01_positions.ipynb")


def found(text: str) -> list[str]:
    return [number.text.strip() for number in prose_numbers.prose_numbers(text)]


def kind_of(text: str, *cells: object) -> str | None:
    """The kind of source of the one number in `text`, beside these code cells."""
    [(_, _, kind)] = classified(LESSON, notebook(markdown("prose", text), *cells))
    return kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The loss falls by 0.3 to 2.", ["0.3", "2"]),
        ("With 1,024 words, 65,536 pairs.", ["1,024", "65,536"]),
        ("It is −0.5 or -1e9.", ["−0.5", "-1e9"]),
        ("1.25e-5 of 44 million", ["1.25e-5", "44 million"]),
        ("½ of them, 92 % of those, 7.5% of these", ["½", "92 %", "7.5%"]),
        ("from 10-20 to 30–40", ["10", "20", "30", "40"]),
        ("0.9 · (−3) − 2.7 is a difference", ["0.9", "−3", "2.7"]),
        (r"$7 \cdot 2\pi = 43.98$ and $65{,}536$", ["7", "2", "43.98", "65,536"]),
        (r"$\frac{e^1}{2e+1} = 0.422$", ["2", "1", "0.422"]),
        ("| 128 | **256** |", ["128", "256"]),
        ("40 keys, where p < 0.5 and q > 0.3", ["40", "0.5", "0.3"]),
    ],
)
def test_numbers_are_found(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 47\n```",
        "`x = 47` in code",
        "[a link](47_lesson.ipynb#47-(again))",
        "[11](11_training.ipynb)",
        "# 47 · A title\n\n## 47. A heading\n\n47. an item\n> 47. a quoted item",
        "sections 3.2.3, 5.4 and 6.1; Table 47; Figures 47–48; lesson 11; head 4.7",
        "(Vaswani et al., 2017), Och (2003), a blog of 2022, before 2017",
        "**Time** 45–60 minutes, plus the exercise",
        "<kbd>x</kbd> <a href='47'>a</a>",
        r"$x_{47} + y^{47} + W_47 + e^47$",
        "float16, fp47, W47, Q47",
    ],
)
def test_a_reference_is_no_number(text: str) -> None:
    assert found(text) == []


def test_numbers_have_values_and_a_last_digit() -> None:
    [number] = numbers("about 4.50 million")
    assert number.value == 4_500_000
    assert number.unit == 10_000


@pytest.mark.parametrize("text", ["0.895", "0.9", "0.90", "89.5 %", "90 %"])
def test_a_printed_number_may_be_rounded(text: str) -> None:
    assert kind_of(text, code("a", "show(x)", [stream("x = 0.895\n")])) == "printed"


@pytest.mark.parametrize("text", ["0.8", "0.91", "0.8950001", "91 %", "895", "−0.895", "89.5"])
def test_another_number_is_not_the_printed_one(text: str) -> None:
    assert kind_of(text, code("a", "show(x)", [stream("x = 0.895\n")])) is None


def test_a_fall_may_be_written_without_its_sign() -> None:
    assert kind_of("falls by 0.3", code("a", "show(x)", [stream("-0.30")])) == "printed"


def test_markup_is_read_and_scripts_are_not() -> None:
    page = "<script>let a = 47</script><b data-x='48'>4</b><p>It is 0.375&nbsp;%</p>"
    cell = code("a", "widget", [bundle(html=page)])
    assert [number.text.strip() for number in computed(cell)] == ["4", "0.375\N{NO-BREAK SPACE}%"]


def test_a_number_that_is_only_printed_from_a_string_is_not_computed() -> None:
    shown = [stream("the paper: 28.4, ours 31.25\n")]
    cell = code("a", 'print(f"the paper: 28.4, ours {x:5.2f}")', shown)
    assert [number.text for number in computed(cell)] == ["31.25"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("%pip install x\nsteps = 1_500", "1,500"),
        ("assert math.isclose(x, 0.375)", "37.5 %"),
        ("scores.masked_fill(mask, -1e9)", "−1e9"),
    ],
)
def test_a_number_may_be_set_in_code(source: str, text: str) -> None:
    assert kind_of(text, code("a", source)) == "set in code"


@pytest.mark.parametrize("text", ["0.4", "38 %", "0.3751"])
def test_a_number_of_the_code_is_not_rounded(text: str) -> None:
    assert kind_of(text, code("a", "x = 0.375")) is None


def test_strings_and_comments_set_nothing() -> None:
    assert list(constants('print("47")  # 48\nx = True')) == []


def test_one_digit_counts_unless_it_is_a_share() -> None:
    assert kind_of("9 heads") == "counts"
    assert kind_of("10 heads") is None
    assert kind_of("5 %") is None


def test_a_fact_is_cited_in_its_own_lessons_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = '[[fact]]\nnumber = "28.4"\nlessons = ["01"]\nwhat = "BLEU"\nsource = "Table 2"\n'
    (tmp_path / "facts.toml").write_text(entry)
    monkeypatch.setattr(prose_numbers, "FACTS", tmp_path / "facts.toml")
    assert kind_of("It reached 28.4 BLEU") == "cited"
    assert kind_of("It reached 28 BLEU") is None
    lesson = notebook(markdown("prose", "It reached 28.4 BLEU"))
    assert prose_numbers_have_a_source(LESSON, lesson) == []
    assert len(prose_numbers_have_a_source(Path("02_other.ipynb"), lesson)) == 1


def test_an_invented_number_is_named_with_its_cell() -> None:
    """In a stored lesson, among everything that it prints."""
    path = ROOT / "notebooks" / "04_attention_matmul.ipynb"
    lesson = read(path)
    last = lesson.cells[-1]
    last.source += "\n\nOn our test set it reaches 31.62 BLEU."
    [problem] = prose_numbers_have_a_source(path, lesson)
    assert problem.startswith(
        f"cell {last.id!r}: '31.62' is neither printed nor set by the lesson's code"
    )


def test_every_fact_is_complete_and_stated_by_each_of_its_lessons() -> None:
    stated = {
        (path.stem[:2], number.value)
        for path in (ROOT / "notebooks").glob("*.ipynb")
        for cell in read(path).cells
        if cell.cell_type == "markdown"
        for number in prose_numbers.prose_numbers(cell.source)
    }
    unused = []
    for fact in facts():
        assert fact.lessons and fact.what and len(fact.source) > 10, fact
        [number] = numbers(fact.number)
        unused += [(name, fact) for name in fact.lessons if (name, number.value) not in stated]
    assert unused == []


def test_the_command_counts_the_sources_of_every_lesson(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lesson = notebook(markdown("a", "It is 0.895, of 47."), code("b", "x", [stream("0.895")]))
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "01_a.ipynb").write_bytes(to_bytes(lesson))
    monkeypatch.setattr(prose_numbers, "ROOT", tmp_path)
    prose_numbers.main()
    counts = "2 {'printed': 1, 'no source': 1}"
    assert capsys.readouterr().out == f"01_a: {counts}\nall: {counts}\n"
