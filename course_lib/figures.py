"""The drawings that lessons store, as SVG files and as slides: what ``course figures`` writes.

Nothing is run: a stored output has its pictures as SVG, with the sentence that belongs to each.
What a slider or the attention explorer moves is stored as pixels, and stays in the lesson.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from string import ascii_lowercase
from urllib.parse import quote, unquote

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from course_lib.arguments import option
from course_lib.atomic import write_atomically
from course_lib.errors import CourseError
from course_lib.terminal import say
from course_lib.work_copy.folders import NOTEBOOKS, find_notebook

PAGE = Path(__file__).parent / "assets" / "slides.html"
SVG = "data:image/svg+xml,"
# A chapter, or a question further down.
HEADING = re.compile(r"^(?:## |#{3,4} (?=Q\d|What models of today))(.+)$", re.MULTILINE)
_DARK = re.compile(r"@supports\(color:light-dark\(red,red\)\)\{[^{}]*\{[^{}]*\}\}")
_VALUE = re.compile(r"--([\w-]+):([^;}]+)[;}]")


@dataclass(frozen=True, kw_only=True)
class FiguresOptions:
    """Of which lessons, and where to."""

    lessons: tuple[str, ...] = option(
        "lessons by the start of their names (default: all)",
        default=(),
        metavar="LESSON",
        positional=True,
        many="*",
    )
    output: Path = option(
        "where the slides go, and the drawings in a folder for each lesson (default: figures)",
        default=Path("figures"),
        metavar="DIR",
    )


@dataclass
class Slide:
    """One state of a drawing: its pictures, as the text of their SVG, each with its alt text."""

    pictures: list[tuple[str, str]] = field(default_factory=list)
    says: str = ""

    @property
    def images(self) -> list[tuple[str, str]]:
        """The address of each picture, in signs that HTML leaves alone, and its alt text."""
        return [(SVG + quote(svg, safe=" =:/;,.()@+-*{}!|?"), alt) for svg, alt in self.pictures]


def run_figures(options: FiguresOptions) -> int:
    """Write the drawings of lessons, and say where they are."""
    for path, count in write_figures(options.lessons, options.output):
        say(f"{path}: {path.stat().st_size / 1000:.0f} kB, {count} drawings in {path.stem}/")
    return 0


def write_figures(names: Sequence[str], folder: Path) -> list[tuple[Path, int]]:
    """Write slides and SVG files; return each page of slides, and how many files go with it.

    Args:
        names: lessons by the start of their names; none means all lessons.
        folder: is made if it is not there.

    Raises:
        CourseError: there is no such lesson, or a file cannot be written.
    """
    lessons = [find_notebook(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    lessons = lessons or [find_notebook("00")]  # which says why there are none
    for name, lesson in zip(names, lessons, strict=False):
        if lesson.resolve().parent != NOTEBOOKS.resolve():  # others' may hold anything
            raise CourseError(f"expected a lesson of the course, such as 06, got {name}")
    written = []
    for lesson in lessons:
        title, chapters = read_chapters(lesson)
        files = svg_files(lesson.stem, chapters)
        for name, svg in files.items():
            write_atomically(folder / lesson.stem / name, svg)
        page = folder / f"{lesson.stem}.html"
        write_atomically(page, slides_page(title, chapters))
        written.append((page, len(files)))
    return written


def read_chapters(lesson: Path) -> tuple[list[str], list[tuple[str, list[Slide]]]]:
    """A lesson's title and first sentences; and of each of its questions that has drawings, the
    heading and the slides. What stands before the first question has the heading "".
    """
    notebook = json.loads(lesson.read_text("utf-8"))
    title, heading, chapters = [lesson.stem], "", dict[str, list[Slide]]()
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            if source.startswith("# "):
                title = [line for line in source.removeprefix("# ").splitlines() if line]
            heading = next(reversed(HEADING.findall(source)), heading)
        for output in cell.get("outputs", ()):
            if found := slides_in("".join(output.get("data", {}).get("text/html", ""))):
                chapters.setdefault(heading, []).extend(found)
    return title, list(chapters.items())


def slides_in(text: str) -> list[Slide]:
    """The slides of a stored output: one for each drawing, or for each frame of a film."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return [slide for slide in reader.slides if slide.pictures]


class _Reader(HTMLParser):
    """Collects a figure's pictures and sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.slides: list[Slide] = []
        self.inside: list[str] = []  # "figcaption", or "p" below the pictures of a frame
        self.wide = ""  # the picture for wide pages, where there is another for phones

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        frame = given.get("class") == "dw-frame"
        if frame and len(self.slides) and not self.slides[-1].pictures:
            return  # a film begins with the slide of its figure
        if tag == "figure" or frame:
            self.slides.append(Slide())
        elif tag == "source":
            self.wide = given.get("srcset") or ""
        elif tag == "img" and self.slides:
            address, self.wide = self.wide or given.get("src") or "", ""
            if address.startswith(SVG):
                svg = unquote(address.removeprefix(SVG))
                self.slides[-1].pictures.append((svg, given.get("alt") or ""))
        elif tag in ("figcaption", "p"):
            self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.inside[-1:] == [tag]:
            self.inside.pop()

    def handle_data(self, data: str) -> None:
        # The caption of a whole film says less than the sentence of its last frame.
        if self.slides and self.inside == ["p"]:
            self.slides[-1].says += data
        elif self.slides and self.inside == ["figcaption"] and not self.slides[-1].says:
            self.slides[-1].says = data


def svg_files(lesson: str, chapters: Sequence[tuple[str, list[Slide]]]) -> dict[str, str]:
    """The drawings by file name, such as ``04_q4d_1.svg``; panels side by side have letters.

    What stays the same from one frame of a film to the next is written once.
    """
    files, counts = dict[str, str](), Counter[str]()
    for heading, slides in chapters:
        part = re.sub(r"^(Q\d+[a-z])\..*", r"\1", heading).lower()
        name = re.sub(r"\W+", "-", part).strip("-") or "start"
        for slide in slides:
            counts[name] += 1
            letters = ascii_lowercase if len(slide.pictures) > 1 else [""]
            for letter, (svg, _) in zip(letters, slide.pictures, strict=False):
                drawn = in_light(svg)
                if drawn not in files.values():
                    files[f"{lesson[:2]}_{name}_{counts[name]}{letter}.svg"] = drawn
    return files


def in_light(svg: str) -> str:
    """The drawing with its colours for light pages written where they are used, since few programs
    but browsers know variables.
    """
    svg = _DARK.sub("", svg).replace(":root{color-scheme:light dark}", "")
    values = dict(_VALUE.findall(svg))
    svg = svg.replace("font-weight:650", "font-weight:bold")
    svg = re.sub(r"[\w.:]+\{(?:--[\w-]+:[^;{}]+;?)+\}", "", svg)
    return re.sub(r"var\(--([\w-]+)\)", lambda found: values.get(found[1], "#000000"), svg)


def slides_page(title: Sequence[str], chapters: Sequence[tuple[str, list[Slide]]]) -> str:
    """One page of slides, which needs neither a network nor a second file."""
    from course_lib.viz.drawings.colours import document_style  # loads Matplotlib

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(PAGE.read_text(encoding="utf-8")).render(
        title=title[0],
        says=" ".join(title[1:]).replace("*", ""),
        chapters=[(re.sub(r"[`*$]", "", heading), slides) for heading, slides in chapters],
        colours=Markup(document_style()),
    )
