import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.explorer.explorer import AttentionExplorer, explore_attention

QUERIES = ["the", "dog"]
KEYS = ["der", "Hund", "."]


def cross(n_layers=2, n_heads=2):
    return explore_attention(torch.full((n_layers, n_heads, 2, 3), 1 / 3), QUERIES, KEYS)


def model():
    """Encoder self-attention of three layers with five heads beside cross-attention of two."""
    own = explore_attention(torch.full((3, 5, 3, 3), 1 / 3), KEYS)
    return AttentionExplorer(own.data, cross().data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer": 2}, r"layer must be one of \[0, 1\], got 2"),
        ({"head": -2}, r"head must be one of \[-1, 0, 1\], got -2"),
        ({"view": "cube"}, "view must be one of .*'grid'.*, got 'cube'"),
        ({"step": "scores"}, r"step must be one of \['weights'\], got 'scores'"),
        ({"kind": "causal"}, r"kind must be one of \['cross'\], got 'causal'"),
        ({"key": 3, "query": 0}, r"key must be one of \[None, 0, 1, 2\], got 3"),
        ({"key": 1}, "key=1 opens a cell of a locked row: give query, too"),
        ({"heads": [0, 2]}, r"heads must be one of \[0, 1\], got 2"),
        ({"layers": 1}, r"layers must be a list, such as \[0, 1\], got 1"),
        ({"query": 9}, r"query must be one of \[None, 0, 1\], got 9"),
        ({"colour": 1}, "select knows kind, layer, head, .*, got 'colour': is it misspelt"),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(changes, message):
    with pytest.raises(CourseError, match=message):
        cross().select(**changes)


def test_a_long_list_of_choices_is_named_by_its_ends():
    with pytest.raises(CourseError, match="layer must be one of 0 to 6, got 7"):
        explore_attention(torch.eye(2).repeat(7, 1, 1, 1), QUERIES).select(layer=7)


def test_another_kind_of_attention_releases_what_was_chosen_in_the_first():
    shown = model().select(layer=2, head=4, heads=[0, 3], query=2, key=1, view="lines")
    state = shown.select(kind="cross").state
    assert (state["layer"], state["head"]) == (1, 1)  # the last that there are
    assert (state["heads"], state["query"], state["key"], state["view"]) == (
        [],
        None,
        None,
        "lines",
    )
    assert shown.data.weights.shape == (2, 2, 2, 3)


def test_another_head_ends_a_comparison_and_another_row_closes_the_cell():
    shown = model().select(heads=[3, 1], query=0, key=2)
    assert shown.state["heads"] == [1, 3]
    assert shown.select(layer=1).state["heads"] == [1, 3]
    assert shown.select(head=2).state["heads"] == []
    assert shown.state["key"] == 2
    assert shown.select(query=1).state["key"] is None


def test_a_comparison_of_one_head_is_that_head():
    state = model().select(heads=[3]).state
    assert (state["head"], state["heads"]) == (3, [])


def test_all_layers_are_the_same_as_no_choice():
    assert model().select(layers=[2, 0]).state["layers"] == [0, 2]
    assert model().select(layers=range(3)).state["layers"] == []


def pair(**given):
    """Two sentences of three and two tokens in one sequence."""
    tokens = ["[CLS]", "a", "[SEP]", "b", "[SEP]"]
    return explore_attention(torch.full((2, 2, 5, 5), 0.2), tokens, second_sentence=3, **given)


def test_sentences_are_chosen_where_the_second_one_is_known():
    assert pair().state["sentences"] == "all"
    assert pair().select(sentences="AB").state["sentences"] == "AB"
    assert "sentences" not in cross().state
    with pytest.raises(CourseError, match="give explore_attention its second_sentence"):
        cross().select(sentences="AB")
    with pytest.raises(CourseError, match="sentences must be one of all to BB, got 'AC'"):
        pair().select(sentences="AC")


def test_among_other_sentences_nothing_stays_locked_and_no_row_outside_of_them_can_be():
    shown = pair().select(query=1, key=4)
    assert shown.select(sentences="AB").state["query"] is None
    state = shown.select(query=2, key=3).state
    assert (state["query"], state["key"]) == (2, 3)
    assert shown.select(sentences="AB").state["query"] == 2
    with pytest.raises(CourseError, match=r"query must be one of \[None, 0, 1, 2\], got 3"):
        shown.select(query=3)
    with pytest.raises(CourseError, match=r"key must be one of \[None, 3, 4\], got 0"):
        shown.select(query=0, key=0)


def test_another_kind_of_attention_shows_all_sentences():
    both = AttentionExplorer(pair().data, cross().data).select(sentences="AB")
    assert both.select(kind="cross").state["sentences"] == "all"
    with pytest.raises(CourseError, match=r"sentences must be one of \['all'\], got 'AB'"):
        both.select(sentences="AB")


@pytest.mark.parametrize("index", [0, 5, -1, 1.5])
def test_a_second_sentence_outside_the_tokens_is_refused(own_messages, index):
    tokens = list("abcde")
    with pytest.raises(CourseError, match=f"a whole number from 1 to 4, got {index}"):
        explore_attention(torch.eye(5), tokens, second_sentence=index)


@pytest.mark.parametrize("kind", ["cross", "causal"])
def test_a_second_sentence_needs_self_attention(kind):
    with pytest.raises(CourseError, match=f"for kind='self', got kind='{kind}'"):
        explore_attention(torch.eye(2), QUERIES, QUERIES, kind=kind, second_sentence=1)
