import math
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from course_lib.model import sinusoidal_positions
from course_lib.viz.drawings.drawing import WIDTH
from course_lib.viz.drawings.marks import in_cell, text_width
from course_lib.viz.drawings.words.position_clocks import POSITIONS, draw_position_clocks

SVG = "{http://www.w3.org/2000/svg}"
TABLE = sinusoidal_positions(61, 8)


def elements(panel, name):
    return list(ElementTree.fromstring(panel.svg()).iter(SVG + name))


def texts(panel):
    return [element.text for element in elements(panel, "text")]


def tips(panel):
    """Where the hands point, in shares of their length: (to the right, up)."""
    found = []
    for path in elements(panel, "path"):
        if path.get("stroke-linecap") == "round":
            x, y, to_x, to_y = map(float, path.get("d")[1:].replace("L", " ").split())
            found.append((to_x - x, y - to_y))
    length = max(math.hypot(*tip) for tip in found)
    return torch.tensor(found) / length


@pytest.mark.parametrize("d_model", [2, 4, 8, 10, 16])
def test_every_hand_points_sine_to_the_right_and_cosine_up(d_model):
    table = sinusoidal_positions(61, d_model)
    film = draw_position_clocks(table)
    for position, panel in zip(POSITIONS, film.panels[::2], strict=True):
        assert torch.allclose(tips(panel).flatten(), table[position], atol=0.02)


def cells(panel):
    return [r for r in elements(panel, "rect") if r.get("class") == "cell"]


def numbers(panel):
    """What is written in the cells: below all clocks."""
    low = float(cells(panel)[0].get("y"))
    bold = [e for e in elements(panel, "text") if e.get("class") == "aside bold"]
    return [e.text for e in bold if float(e.get("y")) > low]


def turns(panel):
    """What is written in bold above the cells."""
    low = float(cells(panel)[0].get("y"))
    bold = [e for e in elements(panel, "text") if e.get("class") == "aside bold"]
    return [e.text for e in bold if float(e.get("y")) < low]


def test_the_cells_hold_the_row_of_the_table():
    for position, panel in zip(POSITIONS, draw_position_clocks(TABLE).panels[::2], strict=True):
        row = [in_cell(value, 1) for value in TABLE[position].tolist()]
        assert numbers(panel) == row
        assert f"row {position} of the table" in texts(panel)


def test_beside_the_clocks_stands_the_table_with_their_row_framed():
    for position, panel in zip(POSITIONS, draw_position_clocks(TABLE).panels[1::2], strict=True):
        drawn = torch.zeros(len(POSITIONS) * 8)
        for i, cell in enumerate(cells(panel)):
            sign = 1 if "positive" in cell.get("fill") else -1
            drawn[i] = sign * float(cell.get("fill-opacity", 0))
        assert torch.allclose(drawn, TABLE[list(POSITIONS)].flatten(), atol=0.01)
        [frame] = [r for r in elements(panel, "rect") if "accent" in r.get("stroke", "")]
        first = cells(panel)[8 * POSITIONS.index(position)]
        assert float(frame.get("y")) == float(first.get("y")) - 1


def test_turns_are_those_of_the_frequencies():
    film = draw_position_clocks(TABLE)
    assert turns(film.panels[6]) == [f"{2 * math.pi * 10**i:,.0f}" for i in range(4)]
    last = film.frames[-1].says
    assert last == (
        "Position 44: the first hand has gone round 7.0 times, the second 0.7 times, the last "
        "hardly at all."
    )
    assert "628 positions for one turn, sin 0.43, cos 0.90" in film.panels[-2].description


def test_another_base_gives_other_turns():
    film = draw_position_clocks(sinusoidal_positions(10, 4, base=100.0), [0, 3, 9])
    assert {"6", "63"} <= set(texts(film.panels[2]))
    assert len(film.frames) == 3


def test_every_word_lies_in_the_panel():
    for d_model in (2, 8, 12, 16):
        for panel in draw_position_clocks(sinusoidal_positions(61, d_model)).panels:
            for text in elements(panel, "text"):
                share = {None: 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")]
                width = text_width(text.text, 12 if "aside" in text.get("class", "") else 14)
                left = float(text.get("x")) - share * width
                assert left > -2 and left + width < WIDTH + 2
                assert float(text.get("y")) < panel.height


def test_numbers_fit_into_their_cells_or_are_left_out():
    for d_model in (8, 10, 12, 16):
        panel = draw_position_clocks(sinusoidal_positions(61, d_model)).panels[6]
        cell = float(next(r for r in elements(panel, "rect")).get("width"))
        numbers = [text for text in texts(panel) if "." in text]
        assert all(text_width(number, 12) < cell - 4 for number in numbers)
        assert bool(numbers) == (d_model <= 10)


def test_a_frame_takes_less_than_ten_kilobytes():
    film = draw_position_clocks(TABLE)
    assert max(len(panel.image()) for panel in film.panels) < 10_000


def test_other_tables_than_pairs_of_sine_and_cosine_are_refused():
    with pytest.raises(ValueError, match="is the layout interleaved"):
        draw_position_clocks(sinusoidal_positions(61, 8, layout="concatenated"))
    with pytest.raises(ValueError, match="does the table begin at 0"):
        draw_position_clocks(TABLE[1:], [0, 1])
    with pytest.raises(ValueError, match="2 to 16 columns, in pairs, got 18"):
        draw_position_clocks(sinusoidal_positions(61, 18))
    with pytest.raises(ValueError, match="in pairs, got 7"):
        draw_position_clocks(TABLE[:, :7])


def test_hands_that_stand_still_or_run_backwards_are_refused():
    for signs in ([1.0, 1.0, -1.0, 1.0], [1.0, 1.0, 0.0, 1.0]):
        table = sinusoidal_positions(20, 4) * torch.tensor(signs)
        table[:, 3] = table[:, 3].where(torch.tensor(signs[2] != 0), torch.ones(20))
        with pytest.raises(ValueError, match="expected hands that run clockwise"):
            draw_position_clocks(table, [0, 1])


def test_positions_without_a_row_are_refused():
    with pytest.raises(ValueError, match="two positions below 40"):
        draw_position_clocks(TABLE[:40])
    with pytest.raises(ValueError, match=r"got \[3\]"):
        draw_position_clocks(TABLE, [3])
    with pytest.raises(ValueError, match="got 1 row"):
        draw_position_clocks(TABLE[:1], [0, 0])
