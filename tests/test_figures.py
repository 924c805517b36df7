"""Drawings of lessons as SVG files and slides: what is taken from outputs, and what is not."""

import json
import re
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from course_lib import cli, figures
from course_lib.errors import CourseError
from course_lib.figures import in_light, slides_in, write_figures
from course_lib.viz.drawings.drawing import Drawing, Film, Frame, Panel
from course_lib.viz.drawings.marks import element
from course_lib.work_copy import folders

LESSONS = sorted(figures.NOTEBOOKS.glob("*.ipynb"))


def panel(title, **more):
    body = element("rect", width=10, height=10, fill="var(--german)")
    return Panel(title=title, description="A box.", body=body, height=40, **more)


def cell(source, *outputs):
    shown = [{"output_type": "display_data", "data": {"text/html": html}} for html in outputs]
    return {"cell_type": "code" if outputs else "markdown", "source": [source], "outputs": shown}


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    """A lesson with a drawing before its first question, and a film after it."""
    film = Film(
        [Frame([panel("one")], "First."), Frame([panel("two")], "Then <b>.")], caption="All"
    )
    cells = [
        cell("# 04 · A title\n\nWhat *it* is."),
        cell("", Drawing(panel("left"), panel("right"), caption="Both at once.").to_html()),
        cell("## Q4d. Why several `heads`?"),
        cell("", film.to_html()),
    ]
    monkeypatch.setattr(figures, "NOTEBOOKS", tmp_path)
    path = tmp_path / "04_title.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setattr(figures, "find_notebook", lambda name: path)
    return path


def test_files_are_named_by_lesson_question_and_panel(lesson, tmp_path):
    [(page, count)] = write_figures([], tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out" / "04_title").iterdir())
    assert names == ["04_q4d_1.svg", "04_q4d_2.svg", "04_start_1a.svg", "04_start_1b.svg"]
    assert count == 4 and page.name == "04_title.html"


def test_a_film_becomes_a_slide_for_each_frame_with_its_own_sentence(lesson, tmp_path):
    [(page, _)] = write_figures(["04"], tmp_path / "out")
    text = page.read_text("utf-8")
    slides = re.findall(r"<section.*?</section>", text, re.DOTALL)
    assert len(slides) == 1 + 1 + 1 + 2  # title, drawing, question, two frames
    assert "04 · A title" in slides[0] and "What it is." in slides[0]
    assert slides[1].count("<img") == 2 and "Both at once." in slides[1]
    assert "Q4d. Why several heads?" in slides[2]
    assert "First." in slides[3] and "Then &lt;b&gt;." in slides[4]
    assert 'alt="two. A box."' in slides[4] and "All" not in slides[4]


def test_the_page_asks_no_server_for_anything(lesson, tmp_path):
    [(page, _)] = write_figures([], tmp_path / "out")
    text = page.read_text("utf-8")
    assert "default-src 'none'; img-src data:" in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)


def test_the_picture_for_wide_pages_is_taken_where_there_is_one_for_phones():
    [slide] = slides_in(Drawing(panel("wide", narrow=panel("narrow"), width=696)).to_html())
    [(svg, _)] = slide.pictures
    assert "wide" in svg and "narrow" not in svg
    ElementTree.fromstring(svg)


def test_what_is_stored_as_pixels_or_outside_a_figure_is_left_out():
    svg = f"data:image/svg+xml,{quote('<svg/>')}"
    assert slides_in(f'<img src="{svg}">') == []
    assert slides_in('<figure><img src="data:image/webp;base64,AA"></figure>') == []
    assert len(slides_in(f'<figure><img src="{svg}"></figure>')) == 1


def test_a_file_has_its_colours_where_they_are_used():
    [slide] = slides_in(Drawing(panel("box")).to_html())
    svg = in_light(slide.pictures[0][0])
    assert "#1f6bb5" in svg  # German on light pages
    assert not re.search(r"var\(|light-dark|--\w|@supports", svg)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem[:2])
def test_each_lesson_has_drawings_that_other_programs_can_read(path):
    title, chapters = figures.read_chapters(path)
    files = figures.svg_files(path.stem, chapters)
    assert title[0].startswith(path.stem[:2]) and len(files) >= 3
    assert len(set(files.values())) == len(files)
    for svg in files.values():
        root = ElementTree.fromstring(svg)
        assert float(root.get("width")) > 100 and "var(" not in svg and "light-dark" not in svg
    asked = [heading for heading, _ in chapters if re.match(r"Q\d+[a-z]\.", heading)]
    assert len(asked) >= 2


def test_a_notebook_of_somebody_else_is_refused(tmp_path):
    path = tmp_path / "theirs.ipynb"
    path.write_text("{}")
    with pytest.raises(CourseError, match="expected a lesson of the course, such as 06"):
        write_figures([str(path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_says_where_the_slides_are(lesson, tmp_path, capsys):
    assert cli.main(["figures", "04", "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"04_title\.html: \d+ kB, 4 drawings in 04_title/", printed)


def test_without_lessons_the_error_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "NOTEBOOKS", tmp_path / "nothing")
    monkeypatch.setattr(folders, "NOTEBOOKS", tmp_path / "nothing")
    with pytest.raises(CourseError, match="expected lessons and exercises in"):
        write_figures([], tmp_path / "out")
