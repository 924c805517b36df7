import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import pytest
import torch

from course_lib.viz.drawings.marks import text_width
from course_lib.viz.drawings.words.word_map import AROUND, draw_word_map

SVG = "{http://www.w3.org/2000/svg}"
WORDS = "dog cat horse teacher doctor farmer sees hears buys".split()
GROUPS = ["animals"] * 3 + ["people"] * 3 + ["verbs"] * 3
CENTRES = torch.tensor([[0.0, 4.0], [4.0, 0.0], [-3.0, -2.0]]).repeat_interleave(3, dim=0)
POINTS = CENTRES + torch.randn(9, 2, generator=torch.Generator().manual_seed(1))
TITLE = "Words of one kind lie together"


def draw(words=WORDS, points=POINTS, **changes):
    given = {"groups": GROUPS, "lit": "animals", "title": TITLE}
    return draw_word_map(words, points, **given | changes).panels[0]


@pytest.fixture(params=["page", "phone"])
def panel(request):
    """The map for a wide page, and the one for a phone."""
    panel = draw()
    return panel if request.param == "page" else panel.narrow


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def box(text):
    """Left, top, right and bottom of a text, by the widths of letters."""
    share = {None: 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
    size = 12 if "aside" in text.get("class", "") else 14
    width, y = text_width(text.text, size), float(text.get("y")) - 4.6
    left = float(text.get("x")) - share * width
    return left, y - size / 2, left + width, y + size / 2


def cover(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def dots(panel):
    return torch.tensor(
        [[float(c.get("cx")), float(c.get("cy"))] for c in elements(panel, "circle")]
    )


@pytest.mark.slow
def test_distances_on_the_page_are_distances_in_the_plane(panel):
    ratio = torch.pdist(dots(panel)) / torch.pdist(POINTS)
    assert ratio.max() / ratio.min() < 1.05
    # No mirror: the three groups' centres run round in the same sense, in a plane with y up.
    (a, b, c), (x, y, z) = (
        CENTRES[::3],
        dots(panel).view(3, 3, 2).mean(dim=1) * torch.tensor([1, -1]),
    )
    turns = [torch.linalg.det(torch.stack(each)) for each in ((b - a, c - a), (y - x, z - x))]
    assert turns[0] * turns[1] > 0


def test_on_a_phone_up_is_up():
    narrow = dots(draw().narrow)
    assert narrow[POINTS[:, 1].argmax(), 1] == narrow[:, 1].min()


def test_no_border_runs_through_a_word_of_its_group(panel):
    borders = {}
    for path in elements(panel, "path"):
        if path.get("stroke-linejoin"):
            corners = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d"))
            borders[path.get("d")] = torch.tensor([[float(x), float(y)] for x, y in corners])
    texts = {text.text: box(text) for text in elements(panel, "text")}
    for word in WORDS:
        left, top, right, bottom = texts[word]
        assert any(
            hull[:, 0].min() <= left + 1
            and right - 1 <= hull[:, 0].max()
            and hull[:, 1].min() <= top + 1
            and bottom - 1 <= hull[:, 1].max()
            for hull in borders.values()
        ), word


def test_every_word_is_written_once_and_covers_neither_another_nor_a_point(panel):
    written = [text for text in elements(panel, "text") if text.text != TITLE]
    assert sorted(text.text for text in written) == sorted([*WORDS, "animals", "people", "verbs"])
    for a, b in combinations(written, 2):
        assert not cover(box(a), box(b)), (a.text, b.text)
    for x, y in dots(panel).tolist():
        for text in written:
            left, top, right, bottom = box(text)
            assert not (left < x < right and top < y < bottom), text.text


def test_each_word_stands_nearest_to_its_own_point_or_is_joined_to_it(panel):
    texts = {text.text: box(text) for text in elements(panel, "text")}
    for word, (x, y) in zip(WORDS, dots(panel).tolist(), strict=True):
        left, top, right, bottom = texts[word]
        near = (min(max(x, left), right), min(max(y, top), bottom))
        assert abs(near[0] - x) + abs(near[1] - y) < 60


def test_only_the_lit_group_has_the_accent_and_bold_words():
    panel = draw(lit="people")
    fills = ["accent" in circle.get("fill") for circle in elements(panel, "circle")]
    assert fills == [group == "people" for group in GROUPS]
    bold = {t.text for t in elements(panel, "text") if t.get("class") == "aside bold"}
    assert bold == {"teacher", "doctor", "farmer"}


def test_every_group_has_a_border_around_its_points():
    panel = draw()
    borders = [p for p in elements(panel, "path") if p.get("stroke-linejoin") and p.get("d")]
    assert len(borders) == 2 * 3
    assert sum("accent" in p.get("stroke") for p in borders) == 1


def test_the_description_lists_each_group():
    assert "animals: dog, cat, horse; people: teacher, doctor, farmer; verbs: sees" in (
        draw().description
    )


def test_all_lies_in_the_panel(panel):
    for text in elements(panel, "text")[1:]:  # below the title
        left, _, right, bottom = box(text)
        assert left > AROUND and right < panel.width - AROUND and bottom < panel.height


def test_a_word_that_is_also_the_name_of_a_group_is_a_word():
    panel = draw(["verbs", *WORDS[1:]])
    drawn = [t for t in elements(panel, "text") if t.text == "verbs"]
    assert sorted(t.get("class") for t in drawn) == ["aside bold", "bold"]


def test_groups_of_one_or_two_words_are_drawn():
    panel = draw(WORDS[:3], POINTS[[0, 3, 6]], groups=["a", "b", "b"], lit="a")
    assert len(elements(panel, "circle")) == 3


def test_points_on_one_line_are_drawn():
    line = torch.stack([torch.arange(9.0), torch.zeros(9)], dim=1)
    assert len(elements(draw(points=line), "circle")) == 9


def test_what_cannot_be_drawn_is_refused(own_messages):
    with pytest.raises(ValueError, match="got 'plants'"):
        draw(lit="plants")
    with pytest.raises(ValueError, match="got 9 words, 8 points and 9 groups"):
        draw(points=POINTS[:8])
    with pytest.raises(ValueError, match="the same one for all words"):
        draw(points=torch.ones(9, 2))
    crowd = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="choose fewer"):
        draw(["crowded"] * 60, crowd, groups=["a"] * 60, lit="a")
