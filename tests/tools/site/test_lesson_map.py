import re

from tools.site.lesson_map import ROW, flowchart_svg

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
