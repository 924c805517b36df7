import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.offsetbox import AnnotationBbox

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.drawings.colours import COLOURS
from course_lib.viz.plots.plot_beam import Branch, plot_beam
from course_lib.viz.style import ACCENT

TREE = [
    Branch(("me",), 0.45),
    Branch(("i",), 0.3),
    Branch(("cold",), 0.25, fate="dropped"),
    Branch(("i", "am"), 0.24),
    Branch(("me", "is"), 0.225, fate="dropped"),
    Branch(("i", "am", "cold"), 0.192, fate="ended"),
]


def draw(branches=TREE, **options):
    return plot_beam(branches, title="Mir ist kalt", **options)


def boxes(ax):
    """Last word of each prefix → its box; of equal words, the last."""
    found = [part for part in ax.artists if isinstance(part, AnnotationBbox)]
    return {lines_of(box)[0]: box for box in found}


def lines_of(box):
    return [area.get_text() for area in box.offsetbox.get_children()]


def position_of(ax, token):
    return boxes(ax)[token].xy


def way(ax):
    """Where the lines with the accent end."""
    lines = [part for part in ax.patches if to_hex(part.get_edgecolor()) == ACCENT]
    return sorted(tuple(line.get_path().vertices[-1]) for line in lines)


def test_each_branch_is_in_the_column_of_its_step():
    ax = draw()
    columns = [position_of(ax, token)[0] for token in ("<bos>", "me", "i", "am", "is")]
    assert columns == [0, 1, 1, 2, 2]
    assert list(ax.get_xticks()) == [1, 2, 3]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["step 1", "step 2", "step 3"]


def test_the_most_probable_branch_is_on_top():
    ax = draw()
    to_png(ax)
    heights = [ax.transData.transform(position_of(ax, token))[1] for token in ("me", "i")]
    assert heights[0] > heights[1]


def test_a_parent_is_level_with_its_only_child():
    ax = draw()
    assert position_of(ax, "i")[1] == position_of(ax, "am")[1]


def test_a_parent_is_half_way_between_its_children():
    ax = draw([Branch(("a",), 0.9), Branch(("a", "b"), 0.6), Branch(("a", "c"), 0.3)])
    rows = [position_of(ax, token)[1] for token in "bca"]
    assert rows[2] == pytest.approx((rows[0] + rows[1]) / 2)


def test_each_box_gives_the_probability_of_its_prefix():
    more = [Branch(("i", "feel"), 0.00002, fate="dropped"), Branch(("me", "is"), 0.1215)]
    ax = draw([*TREE[:4], *more])
    assert lines_of(boxes(ax)["<bos>"]) == ["<bos>"]
    assert lines_of(boxes(ax)["am"]) == ["am", "0.24"]
    assert lines_of(boxes(ax)["is"]) == ["is", "0.1215"]
    assert lines_of(boxes(ax)["feel"]) == ["feel", "< 0.0001"]


def test_only_what_was_left_behind_is_dashed():
    found = boxes(draw(best=("i", "am", "cold")))
    dashed = {word for word, box in found.items() if box.patch.get_linestyle() != "solid"}
    assert dashed == {"is", "cold"}  # the last cold is the first word of a sentence
    plain = boxes(draw())
    assert to_hex(plain["am"].patch.get_facecolor()) == COLOURS["english-box"].light
    assert to_hex(plain["is"].patch.get_facecolor()) == COLOURS["page"].light


def test_only_the_way_to_the_best_has_the_accent():
    ax = draw([branch for branch in TREE if branch.tokens != ("cold",)], best=("i", "am", "cold"))
    assert way(ax) == [position_of(ax, word) for word in ("i", "am", "cold")]
    accent = {w for w, box in boxes(ax).items() if to_hex(box.patch.get_edgecolor()) == ACCENT}
    assert accent == {"<bos>", "i", "am", "cold"}


def test_without_a_best_nothing_has_the_accent():
    ax = draw()
    assert way(ax) == []
    assert all(to_hex(box.patch.get_edgecolor()) != ACCENT for box in boxes(ax).values())


def test_the_order_of_the_branches_does_not_matter():
    assert to_png(draw()) == to_png(draw(TREE[::-1]))


def test_no_box_covers_another():
    wide = [
        Branch((f"Wörterbuch{i}", *[f"und{i}"] * n), 0.2 / (1 + i + n))
        for i in range(5)
        for n in (0, 1)
    ]
    ax = draw(wide)
    to_png(ax)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    found = [box.patch.get_window_extent(renderer) for box in boxes(ax).values()]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(found, 2))


def test_the_alt_text_says_where_the_paths_end():
    text = "Mir ist kalt. A tree of 6 prefixes, most probable first: "
    assert describe(draw(best=("i", "am", "cold"))) == (
        f"{text}'i am cold' ended with 0.192, the best."
    )
    assert describe(draw(TREE[:2])) == (
        "Mir ist kalt. A tree of 2 prefixes, most probable first: 'me' kept with 0.45; "
        "'i' kept with 0.3."
    )
    only_dropped = [Branch(("me",), 0.45, fate="dropped")]
    assert describe(draw(only_dropped)).endswith("'me' dropped with 0.45.")


def test_no_branches_are_refused():
    with pytest.raises(ValueError, match="at least one branch, got none: did the search take"):
        draw([])


def test_a_branch_that_is_given_twice_is_refused():
    with pytest.raises(ValueError, match="got 2 branches, only 1 of them different: was a"):
        draw([TREE[0], TREE[0]])


def test_a_branch_without_tokens_is_refused():
    with pytest.raises(ValueError, match="at least one token, got none: the root is always drawn"):
        draw([Branch((), 1.0)])


@pytest.mark.parametrize("orphan", [("you", "are"), ("cold", "now"), ("i", "am", "cold", "now")])
def test_a_branch_must_extend_one_that_was_kept(orphan):
    with pytest.raises(ValueError, match=f"was kept, got '{' '.join(orphan)}': is"):
        draw([*TREE, Branch(orphan, 0.1)])


def test_an_unknown_fate_is_refused(own_messages):
    with pytest.raises(ValueError, match="one of 'kept', 'ended', 'dropped', got 'lost'"):
        draw([Branch(("me",), 0.45, fate="lost")])


def test_a_best_that_is_not_a_branch_is_refused():
    with pytest.raises(ValueError, match="best must be one of the branches, got 'i am'"):
        draw(TREE[:2], best=["i", "am"])
