"""The rules for a stored lesson: each is a function from the file and its notebook to problems."""

import ast
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

from nbformat import NotebookNode

from tools import ROOT
from tools.notebooks.build_notebooks import check
from tools.notebooks.notebook_normal_form import SET_UP_ID, NotebookError, own_set_up

Rule = Callable[[Path, NotebookNode], list[str]]

MAX_BYTES = 500_000
MAX_CELL_LINES = 25
MAX_LINE = 100
SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
GENERATED_ID = re.compile(r"(?=.*\d)[0-9a-f]{8}(-[0-9a-f]{4,12})*")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
QUIZ = re.compile(r"^(viz\.)?(quiz|predict_shape)\(", re.MULTILINE)
IMAGE, ALT = re.compile(r"<img\b[^>]*>"), re.compile(r'\balt="([^"]*)"')
CAPTION = re.compile(r"<figcaption\b[^>]*>(.*?)</figcaption>", re.DOTALL)
MAX_CAPTION_WORDS = 40
DRAWING = '<figure class="dw dw-figure'
IMPORTS = ast.Import | ast.ImportFrom
SENTENCE_END = re.compile(r"[.?!][)'\"”]?$")
LIGHT_PAGE = re.compile(r"\b(dark|pale|bright)(er|est)?\b", re.IGNORECASE)
DATA_LIST = re.compile(r"(\d; [^;]*){3}\d")  # "head 0.0 0.36; head 0.1 0.22; …" is for the plot
HEADING = re.compile(r"^(#{1,6}) ", re.MULTILINE)
# These change an output after it was shown, or hide a cell from validation.
BANNED = re.compile(
    r"widgets\.interact\(|from ipywidgets import[^\n]*\binteract|\binteractive(?:_output)?\("
    r"|\bOutput\(|\bclear_output\b|\bdisplay_id\b|NBVAL_|nbval-"
)
# Base64 text may hold "/tmp/" too, but never after a blank, a quote or a bracket.
ABSOLUTE_PATH = re.compile(
    r"(?<![\w+/.:])/(?:home|root|tmp|Users|usr|opt|var|mnt|private)\b|\b[A-Z]:\\\w"
)


def in_normal_form(path: Path, notebook: NotebookNode) -> list[str]:
    """The file is byte for byte what the build writes."""
    try:
        check(path)
    except NotebookError as error:
        return [str(error)]
    return []


def small_file(path: Path, notebook: NotebookNode) -> list[str]:
    """Large notebooks are not shown by web viewers."""
    size = path.stat().st_size
    return [f"{size} bytes, expected at most {MAX_BYTES}"] if size > MAX_BYTES else []


def no_widget_state(path: Path, notebook: NotebookNode) -> list[str]:
    """With state, some viewers refuse the whole file."""
    return ["metadata holds the state of widgets"] if "widgets" in notebook.metadata else []


def meaningful_ids(path: Path, notebook: NotebookNode) -> list[str]:
    """Ids are names that a person chose, like `q1-sine-curves`."""
    return [
        f"cell {cell.id!r}: expected a slug such as 'q1-sine-curves'"
        for cell in notebook.cells
        if not SLUG.fullmatch(cell.id) or GENERATED_ID.fullmatch(cell.id)
    ]


def short_cells(path: Path, notebook: NotebookNode) -> list[str]:
    """A code cell can be read at a glance."""
    problems = []
    for cell in _code(notebook):
        lines = own_lines(cell)
        if len(lines) > MAX_CELL_LINES:
            problems.append(f"cell {cell.id!r}: {len(lines)} lines, at most {MAX_CELL_LINES}")
        if (width := max(map(len, lines), default=0)) > MAX_LINE:
            problems.append(f"cell {cell.id!r}: a line of {width} characters, at most {MAX_LINE}")
        if not lines:
            problems.append(f"cell {cell.id!r}: empty")
    return problems


def no_final_semicolon(path: Path, notebook: NotebookNode) -> list[str]:
    """A semicolon at the end hides a value in Jupyter and nowhere else."""
    return [
        f"cell {cell.id!r}: ends in a semicolon; assign the value to _ instead"
        for cell in _code(notebook)
        if cell.source.rstrip().endswith(";")
    ]


def nothing_banned(path: Path, notebook: NotebookNode) -> list[str]:
    """No output that changes after it was shown, no cell hidden from validation."""
    return [
        f"cell {cell.id!r}: {found[0]!r} is not used in lessons"
        for cell in _code(notebook)
        for found in BANNED.finditer("\n".join([cell.source, *cell.metadata.get("tags", [])]))
    ]


def headings_in_order(path: Path, notebook: NotebookNode) -> list[str]:
    """One title, first, and no level skipped: screen readers navigate by them."""
    problems, before = [], 0
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        for found in HEADING.finditer(FENCE.sub("", cell.source)):
            level = len(found[1])
            if level > before + 1:
                problems.append(f"cell {cell.id!r}: a heading of level {level} follows {before}")
            if level == 1 and before:
                problems.append(f"cell {cell.id!r}: a second title")
            before = level
    return problems if before else ["there is no title"]


def no_stored_trouble(path: Path, notebook: NotebookNode) -> list[str]:
    """Errors only where the lesson means them, warnings nowhere."""
    problems = []
    for cell in _code(notebook):
        expected = "raises-exception" in cell.metadata.get("tags", [])
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stderr":
                problems.append(f"cell {cell.id!r}: the stored output holds stderr")
            if output.output_type == "error" and not expected:
                problems.append(f"cell {cell.id!r}: the stored output is an error")
    return problems


def pictures_have_alt_text(path: Path, notebook: NotebookNode) -> list[str]:
    """Every picture has a text that says what is to be seen, where JupyterLab shows it: in HTML."""
    problems = []
    for cell in _code(notebook):
        for data in (output.get("data", {}) for output in cell.outputs):
            if kinds := [kind for kind in data if kind.startswith("image/")]:
                problems.append(
                    f"cell {cell.id!r}: expected pictures as text/html, found {kinds}: "
                    "show them by show_figure"
                )
            for image in IMAGE.findall(data.get("text/html", "")):
                found = ALT.search(image)
                text = found[1] if found else ""
                if len(text.split()) < 3:
                    problems.append(f"cell {cell.id!r}: a picture whose alt text is {text!r}")
    return problems


def captions_are_sentences(path: Path, notebook: NotebookNode) -> list[str]:
    """A caption reads as one or two sentences, and a plot's is its alt text."""
    problems = []
    for cell in _code(notebook):
        for output in cell.get("outputs", []):
            page = output.get("data", {}).get("text/html", "")
            alts = ALT.findall(page)
            for escaped in CAPTION.findall(page):
                caption = unescape(escaped)
                wrong = {
                    # A drawing's panels have an alt text each, and one caption.
                    "not the alt text of its picture": escaped not in alts and DRAWING not in page,
                    "without a full stop": not SENTENCE_END.search(caption),
                    "a word that is wrong on a dark page": LIGHT_PAGE.search(caption),
                    "a list of numbers": DATA_LIST.search(caption),
                    f"more than {MAX_CAPTION_WORDS} words": len(caption.split())
                    > MAX_CAPTION_WORDS,
                }
                problems += [
                    f"cell {cell.id!r}: a caption, {what}: {caption}"
                    for what, is_ in wrong.items()
                    if is_
                ]
    return problems


def quiz_sources_are_hidden(path: Path, notebook: NotebookNode) -> list[str]:
    """The source of a quiz holds its answer, so it is folded away."""
    return [
        f"cell {cell.id!r}: a quiz whose source is not hidden"
        for cell in _code(notebook)
        if QUIZ.search(cell.source) and not cell.metadata.get("jupyter", {}).get("source_hidden")
    ]


def no_absolute_paths(path: Path, notebook: NotebookNode) -> list[str]:
    """A path of one machine means nothing on another."""
    problems = []
    for cell in notebook.cells:
        for text in [cell.source, *_output_texts(cell)]:
            found = ABSOLUTE_PATH.search(text)
            if found or str(ROOT) in text:
                problems.append(f"cell {cell.id!r}: the path {found[0] if found else str(ROOT)!r}")
    return problems


def set_up(notebook: NotebookNode) -> str | None:
    """What all lessons share of the cell `set-up`; None when there is none."""
    source = next((cell.source for cell in _code(notebook) if cell.id == SET_UP_ID), None)
    return source.removesuffix(own_set_up(source)) if source else source


def own_lines(cell: NotebookNode) -> list[str]:
    """The lines of a cell, of the set-up cell those below its imports."""
    if cell.id != SET_UP_ID:
        return list(cell.source.splitlines())
    source = own_set_up(cell.source) or cell.source
    imports = [each for each in ast.parse(source).body if isinstance(each, IMPORTS)]
    lines = source.splitlines()[imports[-1].end_lineno if imports else 0 :]
    return "\n".join(lines).strip("\n").splitlines()


RULES: tuple[Rule, ...] = (
    in_normal_form,
    small_file,
    no_widget_state,
    meaningful_ids,
    short_cells,
    no_final_semicolon,
    nothing_banned,
    headings_in_order,
    no_stored_trouble,
    pictures_have_alt_text,
    captions_are_sentences,
    quiz_sources_are_hidden,
    no_absolute_paths,
)


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _output_texts(cell: NotebookNode) -> list[str]:
    texts = []
    for output in cell.get("outputs", []):
        shown = [output.get("text"), output.get("evalue"), *output.get("data", {}).values()]
        texts += [value for value in shown if isinstance(value, str)]
    return texts
