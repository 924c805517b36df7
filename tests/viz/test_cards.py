"""The one stylesheet of questions, folds and check reports."""

import re

from course_lib.viz.cards import COLOURS, card_css


def test_cards_have_the_colours_of_the_course_and_no_others():
    rules = re.sub(r"--[\w-]+:[^;]*;", "", card_css())
    assert not re.search(r"#[0-9a-f]{3,6}\b|\b(rgb|hsl)a?\(", rules)
    used = {*re.findall(r"var\(--([\w-]+)", card_css())}
    assert used - {"verdict", "tint", "jp-code-font-family"} == {*COLOURS}


def test_cards_follow_forced_colours_and_move_only_where_that_is_wanted():
    css = card_css()
    assert "@media(forced-colors:active){:is(.course-card,.course-fold){--ink:CanvasText;" in css
    assert css.count("transition") == 1
    assert "transition" in css.split("(prefers-reduced-motion:no-preference)")[1].split("@media")[0]
