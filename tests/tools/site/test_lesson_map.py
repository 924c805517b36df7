import re
from pathlib import Path

from tools.site.lesson_map import HEIGHT, ROW, WIDTH, flowchart_svg

MAP = Path(__file__).parents[3] / "docs" / "map.md"

TEXT = """flowchart LR
  subgraph parts
    A[one] --> B[two & more]
    C[three]
  end
  B --> C
  A -.-> C
"""


def draw():
    return flowchart_svg(TEXT, lambda label: f"{label[:3]}.html")


def test_each_box_is_a_link_with_its_label():
    assert re.findall(r'<a href="([^"]*)">.*?<text[^>]*>([^<]*)</text>', draw()) == [
        ("one.html", "one"),
        ("two.html", "two &amp; more"),
        ("thr.html", "three"),
    ]


def test_a_box_is_below_all_that_it_needs():
    tops = [int(top) for top in re.findall(r'<rect x="\d+" y="(\d+)"', draw())]
    assert tops == [0, ROW, 2 * ROW]


def test_an_arrow_that_only_helps_is_dotted():
    assert re.findall(r'class="(arrow[^"]*)"', draw()) == ["arrow", "arrow", "arrow dotted"]


def test_no_arrow_of_the_map_runs_behind_a_box():
    text = re.search(r"```mermaid\n(.*?)```", MAP.read_text("utf-8"), re.DOTALL)[1]
    picture = flowchart_svg(text, str)
    boxes = [(int(x), int(y)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)"', picture)]
    assert len(boxes) == 19
    passed = 0
    for way in re.findall(r'class="arrow[^"]*" marker-end="[^"]*" d="([^"]*)"', picture):
        # Between two rows it bends, and straight down it passes one.
        assert re.fullmatch(r"M\d+ \d+(C\d+ \d+ \d+ \d+ \d+ \d+(V\d+(?=C))?)+", way)
        for x, top, bottom in re.findall(r"(\d+) (\d+)V(\d+)", way):
            assert int(bottom) == int(top) + HEIGHT
            assert not [b for b in boxes if b[1] == int(top) and 0 <= int(x) - b[0] <= WIDTH]
            passed += 1
    assert passed > 10
