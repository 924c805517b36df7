"""Lessons as pages: formulas without a network, links from page to page, errors."""

import re
import sys

import nbformat
import pytest

from course_lib import cli, pages
from course_lib.errors import CourseError
from course_lib.pages import page_of, with_formulas, write_pages
from course_lib.work_copy import folders


def write_notebook(path, *texts, outputs=(), hidden=False):
    metadata = {"jupyter": {"source_hidden": True}} if hidden else {}
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    code = nbformat.v4.new_code_cell("cost = '$x$'", outputs=[*outputs], metadata=metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[*cells, code]), path)
    return path


def body(page):
    return page[page.index("<main") :]


def formulas(text):
    return "".join(with_formulas(text))


def test_a_formula_in_the_text_becomes_mathml(tmp_path):
    text = r"With $d_\text{head} = 64$ and *this*:" + "\n\n" + r"$$\frac{a}{b} < 1$$"
    page = body(page_of(write_notebook(tmp_path / "a.ipynb", text)))
    assert page.count("<math") == 2
    assert "<mtext>head</mtext>" in page and "<mfrac>" in page and "<mo>&lt;</mo>" in page
    assert '<span class="formula"><math' in page and 'display="block"' in page
    assert "<em>this</em>" in page


def test_what_a_text_folds_looks_like_a_card_and_what_an_output_folds_stays(tmp_path):
    text = "<details><summary>Think first</summary>\n\nWhat?\n\n</details>"
    shown = {"text/html": '<details class="course-tests"><summary>2 of 6</summary></details>'}
    output = nbformat.v4.new_output("display_data", shown)
    page = page_of(write_notebook(tmp_path / "a.ipynb", text, outputs=[output]))
    assert '<details class="course-fold"><summary>Think first</summary>' in body(page)
    assert shown["text/html"] in body(page)
    assert ".course-fold" in page[: page.index("<main")]


@pytest.mark.parametrize(
    "path", sorted(folders.NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem
)
def test_no_command_is_left_in_a_formula_of_a_lesson(path):
    """latex2mathml shows what it does not know, such as \\operatorname* or \\big before \\{."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"`[^`]*`", "", cell.source)
            math = re.findall("<math.*?</math>", formulas(text), re.DOTALL)
            assert [found for found in math if re.search(r">[^<]*[\\*]", found)] == []


def test_a_formula_in_an_output_becomes_mathml_and_none_in_code(tmp_path):
    shown = {"text/html": "<p>$x^2$</p><pre>$y$</pre><script>let z = '$w$ < 1';</script>"}
    output = nbformat.v4.new_output("display_data", shown)
    printed = nbformat.v4.new_output("stream", name="stdout", text="$5 or $6\n")
    path = write_notebook(tmp_path / "a.ipynb", "`$a$`", outputs=[output, printed])
    page = body(page_of(path))
    assert page.count("<math") == 1
    for kept in ("<pre>$y$</pre>", "let z = '$w$ < 1';", "$5 or $6", "<code>$a$</code>"):
        assert kept in page
    assert "$x$" in re.sub("<[^>]*>", "", page)  # in the source of the cell


def test_the_page_asks_no_server_for_anything(tmp_path):
    page = page_of(write_notebook(tmp_path / "a.ipynb", "# Title", "$x$"))
    assert not re.search(r"""<(script|link|img)[^>]*(src|href)=["']https?:""", page)
    assert "mathjax" not in page.lower() and "require.js" not in page


def test_hidden_source_is_folded(tmp_path):
    output = nbformat.v4.new_output("stream", name="stdout", text="printed")
    hidden, shown = (
        body(page_of(write_notebook(tmp_path / f"{flag}.ipynb", outputs=[output], hidden=flag)))
        for flag in (True, False)
    )
    assert '<details class="folded"><summary>Code</summary>' in hidden
    assert "<details" not in shown


def test_of_the_set_up_cell_a_page_has_the_picture_only(tmp_path):
    output = nbformat.v4.new_output("display_data", {"text/html": "<p>a picture</p>"})
    path = write_notebook(tmp_path / "a.ipynb", outputs=[output], hidden=True)
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[0].id = "set-up"
    nbformat.write(notebook, path)
    page = body(page_of(path))
    assert "<p>a picture</p>" in page and "cost" not in page and "<summary>" not in page


@pytest.mark.parametrize("hidden", [True, False])
def test_a_cell_that_is_hidden_and_shows_nothing_is_left_out(tmp_path, hidden):
    page = body(page_of(write_notebook(tmp_path / "a.ipynb", "# Title", hidden=hidden)))
    assert ("cost" in page) is not hidden and "Title" in page


def test_without_content_a_page_is_small(tmp_path):
    """nbconvert's own styles have 270 kB."""
    assert len(page_of(write_notebook(tmp_path / "a.ipynb", "# Title"))) < 25_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        (r"it costs \$5 or \$6", "it costs $5 or $6"),
        ("$5 and $6", "$5 and $6"),
        (r"$\frac{$", r"$\frac{$"),
        ("$ x $", "$ x $"),
    ],
)
def test_what_is_no_formula_stays_and_is_escaped(text, expected):
    assert formulas(text) == expected


def test_markup_in_a_formula_is_escaped():
    assert "<img" not in formulas(r"$\text{<img src=x onerror=alert(1)>}$")
    assert "<script" not in formulas("$<script>$") + formulas(r"$\text{<script>}$")


def test_lines_of_a_formula_are_rows_of_a_table():
    formed = formulas(r"$$\begin{aligned} a &= b \\[4pt] cd &= e && (B) \end{aligned}$$")
    assert formed.count("<mtr>") == 2
    assert 'columnalign="right"' in formed
    assert "&amp;" not in formed
    assert "4pt" not in formed


def test_every_formula_of_the_lessons_can_be_read():
    found = 0
    for path in sorted(folders.NOTEBOOKS.glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            text = re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL)
            if cell.cell_type == "markdown":
                formed = formulas(text)
                found += formed.count("<math")
                unread = re.search(r"\\[a-z]{2,}|<mi>&amp;|<mn>\d+pt", formed)
                assert not unread, (path.name, cell.id)
    assert found > 300


def test_links_lead_to_pages_that_are_written_and_else_to_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(pages, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(pages, "repository_files", lambda: "https://example.org/blob/main/")
    links = (
        "[b](01_b.ipynb#A-part) [c](02_c.ipynb) [d](../docs/map.md) [e](#here) [f](https://x.y/)"
    )
    write_notebook(tmp_path / "00_a.ipynb", links)
    write_notebook(tmp_path / "01_b.ipynb", "# A part")
    written = write_pages(["00", "01"], tmp_path / "out")
    assert [path.name for path in written] == ["00_a.html", "01_b.html"]
    found = re.findall(r'<a href="([^"]*)"', body(written[0].read_text("utf-8")))
    assert found == [
        "01_b.html#A-part",
        "https://example.org/blob/main/notebooks/02_c.ipynb",
        "https://example.org/blob/main/docs/map.md",
        "#here",
        "https://x.y/",
    ]


def test_a_notebook_of_ones_own_keeps_its_links(tmp_path):
    page = body(page_of(write_notebook(tmp_path / "mine.ipynb", "[other](other.ipynb)")))
    assert '<a href="other.ipynb">other</a>' in page


def test_without_names_all_lessons_become_pages(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(folders, "NOTEBOOKS", tmp_path / "notebooks")
    monkeypatch.setattr(pages, "NOTEBOOKS", tmp_path / "notebooks")
    for name in ("00_a", "01_b"):
        write_notebook(tmp_path / "notebooks" / f"{name}.ipynb")
    assert cli.main(["pages", "--output", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["00_a.html", "01_b.html"]
    assert re.search(r"01_b\.html: \d+ kB", capsys.readouterr().out)


def test_two_notebooks_with_one_name_are_refused(tmp_path):
    paths = [str(write_notebook(tmp_path / folder / "a.ipynb")) for folder in ("x", "y")]
    with pytest.raises(CourseError, match="two notebooks with the same name"):
        write_pages(paths, tmp_path)


def test_what_is_no_notebook_is_refused(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text("{")
    with pytest.raises(CourseError, match=r"expected a notebook in .*a\.ipynb"):
        page_of(path)


def test_without_nbconvert_the_message_says_what_to_install(tmp_path, monkeypatch):
    path = write_notebook(tmp_path / "a.ipynb")
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    with pytest.raises(CourseError, match=r"latex2mathml.*-m pip install .*\[lab\]"):
        page_of(path)
