"""The look of what a student gets back: the course's colours, and the items by their titles."""

from __future__ import annotations

import re
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from pygments.formatters import HtmlFormatter

from course_lib.checks.table import TABLE, cell_id
from course_lib.viz.drawings.colours import forced_variables, variables

STYLE = Path(__file__).parents[2] / "assets" / "feedback.css"
_TITLES = {
    f"#{cell_id(entry.id, 'written' if entry.kind == 'written' else 'check')}": entry.title
    for entry in TABLE.values()
}
_SCORE = re.compile(r"Score: ([0-9.]+) / ([0-9.]+)")
_SIGNS = {"✓": "right", "✗": "wrong"}  # of a check's output


def give_look(soup: BeautifulSoup) -> None:
    """Change nbgrader's page; what a student wrote stays as it is."""
    if soup.head is None or soup.body is None:
        return
    dark = HtmlFormatter(style="github-dark").get_style_defs(".dw .highlight")
    style = soup.new_tag("style")
    style.string = (
        f"{variables()}{forced_variables()}\n@media screen and (prefers-color-scheme: dark) "
        f"{{\n{dark}\n}}\n{STYLE.read_text('utf-8')}"
    )
    soup.head.append(style)
    soup.body["class"] = "dw"
    for entry in soup.select("#toc li"):
        _name_item(entry)
    for output in soup.select(".output_stdout > pre"):
        if verdict := _SIGNS.get(output.get_text()[:1]):
            output["class"] = verdict


def _name_item(entry: Tag) -> None:
    """In the table of contents: an item's title, and whether it has all its points, some or none.

    A link that leads to no item of the course keeps its words.
    """
    link, score = entry.a, _SCORE.search(entry.get_text())
    if link is not None and (title := _TITLES.get(str(link.get("href")))):
        link.string = title
    if score:
        points, most = map(float, score.groups())
        entry["class"] = "right" if points >= most else "part" if points else "wrong"
