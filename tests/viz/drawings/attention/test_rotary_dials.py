"""The hands are the turned features, and what the pictures say of them is what they show."""

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from course_lib.model import sinusoidal_positions
from course_lib.modern import rotate
from course_lib.viz.drawings.attention.pair_layouts import draw_pair_layouts
from course_lib.viz.drawings.attention.rotary_dials import SHIFTS, draw_rotary_dials
from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import signed, text_width

SVG = "{http://www.w3.org/2000/svg}"
QUERY, KEY = torch.randn(2, 8, generator=torch.Generator().manual_seed(15)) * 1.2


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def hands(panel, *, dashed):
    """Where the hands of the keys (dashed) or of the queries point: (up, right), in pixels."""
    found = []
    for path in elements(panel, "path"):
        own = path.get("stroke-linecap") == "round" and "hair" not in path.get("stroke")
        if own and (path.get("stroke-dasharray") is not None) == dashed:
            x, y, to_x, to_y = map(float, path.get("d")[1:].replace("L", " ").split())
            found.append((y - to_y, to_x - x))
    return torch.tensor(found, dtype=torch.float64)


def turned(vector, position, base=10_000.0):
    """Pair by pair: (first, second) of the rotated vector."""
    rotated = rotate(vector.double()[None, None, None], torch.tensor([position]), base=base)
    return rotated.flatten().unflatten(0, (2, -1)).T


def words(panel):
    return [text.text for text in elements(panel, "text")]


@pytest.mark.parametrize("d_head", [2, 4, 8, 12])
def test_every_hand_points_where_rotate_turns_its_pair(d_head):
    query, key = torch.randn(2, d_head, generator=torch.Generator().manual_seed(1))
    film = draw_rotary_dials(query, key)
    longest = max(turned(v, 0).norm(dim=1).max() for v in (query, key))
    for shift, panel in zip(SHIFTS, film.panels[::2], strict=True):
        for vector, position, dashed in ((query, 7 + shift, False), (key, 3 + shift, True)):
            drawn = hands(panel, dashed=dashed)
            wanted = turned(vector, position) / longest
            scale = drawn.norm() / wanted.norm()
            assert torch.allclose(drawn, wanted * scale, atol=0.12)


def test_the_angles_below_the_dials_stay_and_are_those_of_the_hands():
    below = [
        [word for word in words(panel) if word.endswith("°")]
        for panel in draw_rotary_dials(QUERY, KEY).panels[::2]
    ]
    assert all(angles == below[0] for angles in below)
    for angle, query, key in zip(below[0], turned(QUERY, 7), turned(KEY, 3), strict=True):
        between = math.atan2(query[1], query[0]) - math.atan2(key[1], key[0])
        assert angle == f"{signed(math.degrees(math.remainder(between, 2 * math.pi)))}°"


def test_the_scores_are_those_of_turned_and_of_added_positions():
    film = draw_rotary_dials(QUERY, KEY)
    table = sinusoidal_positions(200, 8)
    for shift, panel in zip(SHIFTS, film.panels[1::2], strict=True):
        score = turned(QUERY, 7 + shift).flatten() @ turned(KEY, 3 + shift).flatten()
        added = (QUERY + table[7 + shift]) @ (KEY + table[3 + shift])
        told = f"positions {7 + shift} and {3 + shift}: turned {signed(score.item(), 2)}, added "
        assert told + signed(added.item(), 2) in panel.description
        assert f"{7 + shift} and {3 + shift}" in words(panel)
        assert {signed(score.item(), 2), signed(added.item(), 2)} <= set(words(panel))


def test_the_row_of_the_shift_is_framed_and_the_sentence_agrees():
    film = draw_rotary_dials(QUERY, KEY)
    rows = []
    for panel in film.panels[1::2]:
        [box] = [r for r in elements(panel, "rect") if "accent" in r.get("stroke", "")]
        rows.append(float(box.get("y")))
    assert rows == sorted(set(rows))
    assert film.start == 3
    assert "The turned score is still 4.02" in film.frames[3].says
    assert "went from −2.05 to 4.26" in film.frames[3].says


def test_grey_hands_show_where_the_hands_were_before():
    film = draw_rotary_dials(QUERY, KEY)
    ghosts = [
        sum("hair" in p.get("stroke", "") and p.get("stroke-linecap") == "round" for p in paths)
        for paths in (elements(panel, "path") for panel in film.panels[::2])
    ]
    assert ghosts == [0, 8, 8, 8]


def test_every_word_lies_in_its_panel_and_the_frame():
    for panel in (*draw_rotary_dials(QUERY, KEY).panels, *draw_pair_layouts(16).panels):
        for text in elements(panel, "text"):
            share = {None: 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
            cls = text.get("class") or ""
            width = text_width(text.text, 12 if "aside" in cls else 14, bold="bold" in cls)
            left = float(text.get("x")) - share * width
            assert left > -2 and left + width < WIDTH + 2, text.text
            assert float(text.get("y")) < panel.height


@pytest.mark.parametrize("d_head", [4, 8, 16])
def test_the_arcs_join_the_features_of_a_pair(d_head):
    halves, interleaved = draw_pair_layouts(d_head).panels
    half = d_head // 2
    for panel, pairs in (
        (halves, [(i, i + half) for i in range(half)]),
        (interleaved, [(2 * i, 2 * i + 1) for i in range(half)]),
    ):
        middles = [float(t.get("x")) for t in elements(panel, "text") if (t.text or "").isdigit()]
        joined = []
        for path in elements(panel, "path"):
            x = [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", path.get("d"))]
            ends = [
                min(range(d_head), key=lambda i, at=at: abs(middles[i] - at))
                for at in (x[0], x[-2])
            ]
            joined.append(tuple(ends))
        assert joined == pairs
        assert all(f"{first} with {second}" in panel.description for first, second in pairs)


@pytest.mark.usefixtures("own_messages")
def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="the same even size"):
        draw_rotary_dials(QUERY, KEY[:6])
    with pytest.raises(ValueError, match="the same even size"):
        draw_rotary_dials(QUERY[:3], KEY[:3])
    with pytest.raises(ValueError, match="draw a smaller head"):
        draw_rotary_dials(torch.ones(14), torch.ones(14))
    with pytest.raises(ValueError, match="at least two shifts"):
        draw_rotary_dials(QUERY, KEY, shifts=[0])
    with pytest.raises(ValueError, match="no position below 0"):
        draw_rotary_dials(QUERY, KEY, shifts=[0, -4])
    for d_head in (5, 2, 18):
        with pytest.raises(ValueError, match="an even d_head of 4 to 16"):
            draw_pair_layouts(d_head)
