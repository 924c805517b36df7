import itertools

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from course_lib.viz.alt_text import describe
from course_lib.viz.display import to_png
from course_lib.viz.plots.plot_beam import Branch, plot_beam

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
    """First line of each box → the text."""
    return {text.get_text().splitlines()[0]: text for text in ax.texts}


def position_of(ax, token):
    return boxes(ax)[token].get_position()


def test_each_branch_is_in_the_column_of_its_length():
    ax = draw()
    assert [position_of(ax, token)[0] for token in ("<bos>", "me", "i", "am", "is")] == [
        0,
        1,
        1,
        2,
        2,
    ]
    assert ax.get_xlabel() == "generated tokens"


def test_the_most_probable_branch_is_on_top():
    ax = draw()
    to_png(ax)
    heights = [ax.transData.transform(position_of(ax, token))[1] for token in ("me", "i")]
    assert heights[0] > heights[1]
    assert ax.get_ylabel() == "prefixes, by probability"


def test_a_parent_is_level_with_its_only_child():
    ax = draw()
    assert position_of(ax, "i")[1] == position_of(ax, "am")[1]


def test_a_parent_is_half_way_between_its_children():
    ax = draw([Branch(("a",), 0.9), Branch(("a", "b"), 0.6), Branch(("a", "c"), 0.3)])
    rows = [position_of(ax, token)[1] for token in "bca"]
    assert rows[2] == pytest.approx((rows[0] + rows[1]) / 2)


def test_each_box_gives_the_probability_of_its_prefix():
    ax = draw([*TREE, Branch(("i", "feel"), 0.00002, fate="dropped")])
    assert boxes(ax)["am"].get_text() == "am\n0.240"
    assert boxes(ax)["feel"].get_text() == "feel\n2e-05"


def test_each_fate_has_its_own_frame():
    ax = draw()
    frames = [boxes(ax)[token].get_bbox_patch() for token in ("am", "is")]
    assert frames[0].get_linestyle() != frames[1].get_linestyle()
    ended = next(text for text in ax.texts if text.get_text() == "cold\n0.192").get_bbox_patch()
    assert ended.get_linewidth() > frames[0].get_linewidth()


def test_the_legend_names_the_fates_that_occur():
    named = [text.get_text() for text in draw().figure.legends[0].get_texts()]
    assert named == ["kept", "ended", "dropped"]
    named = draw(TREE[:2], best=["me"]).figure.legends[0].get_texts()
    assert [text.get_text() for text in named] == ["kept", "best"]


def test_the_path_to_the_best_is_thicker_than_the_rest():
    ax = draw(best=("i", "am", "cold"))
    thick = [line for line in ax.lines if line.get_linewidth() > 2]
    ends = [(line.get_xdata()[1], line.get_ydata()[1]) for line in thick]
    assert sorted(x for x, _ in ends) == [1, 2, 3]
    assert position_of(ax, "i") in ends


def test_without_a_best_no_path_is_thick():
    assert max(line.get_linewidth() for line in draw().lines) < 2


def test_the_order_of_the_branches_does_not_matter():
    assert to_png(draw()) == to_png(draw(TREE[::-1]))


def test_no_box_covers_another():
    wide = [
        Branch((f"Wörterbuch{i}", *["und"] * n), 0.2 / (1 + i + n))
        for i in range(5)
        for n in (0, 1)
    ]
    ax = draw(wide)
    to_png(ax)
    renderer = FigureCanvasAgg(ax.figure).get_renderer()
    found = [text.get_bbox_patch().get_window_extent(renderer) for text in ax.texts]
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
