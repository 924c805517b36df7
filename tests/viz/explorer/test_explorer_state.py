import json
from pathlib import Path

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.viz.explorer.explorer import AttentionExplorer, explore_attention
from course_lib.viz.explorer.explorer_pack import word_numbers

QUERIES = ["the", "dog"]
KEYS = ["der", "Hund", "."]


def cross(n_layers=2, n_heads=2):
    return explore_attention(torch.full((n_layers, n_heads, 2, 3), 1 / 3), QUERIES, KEYS)


TABLE = json.loads(
    (Path(__file__).parents[2] / "js" / "state_cases.json").read_text("utf-8")
)  # tests/js/state.test.js reads it, too


def make_data(of):
    """Attention of the shape and the tokens that the table names."""
    weights = torch.full(of["shape"], 1 / of["shape"][-1])
    tokens = {"query_tokens": of["queryTokens"], "key_tokens": of["keyTokens"]}
    scores = {"scores": torch.zeros(of["shape"]), "d_head": 4} if of["scores"] else {}
    second = of.get("secondSentence")
    explorer = explore_attention(
        weights, **tokens, kind=of["kind"], second_sentence=second, **scores
    )
    assert word_numbers(of["queryTokens"], second) == of["queryWords"]
    assert word_numbers(of["keyTokens"], second) == of["keyWords"]
    return explorer.data


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["what"])
def test_a_choice_leads_to_the_state_of_the_common_table_or_is_refused(case):
    shown = [make_data(of) for of in TABLE["shown"][case["shown"]]]
    start = AttentionExplorer(*shown).state
    explorer = AttentionExplorer(*shown).select(**case["before"])
    assert explorer.state == start | case["before"]
    if case["refused"]:
        with pytest.raises(CourseError):
            explorer.select(**case["changes"])
    else:
        assert explorer.select(**case["changes"]).state == start | case["after"]


def test_any_collection_of_heads_or_layers_will_do():
    assert cross(n_layers=3).select(layers=range(2), heads={1, 0}).state["layers"] == [0, 1]


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


def pair(**given):
    """Two sentences of three and two tokens in one sequence."""
    tokens = ["[CLS]", "a", "[SEP]", "b", "[SEP]"]
    return explore_attention(torch.full((2, 2, 5, 5), 0.2), tokens, second_sentence=3, **given)


@pytest.mark.parametrize(
    ("explorer", "changes", "message"),
    [
        (cross, {"sentences": "AB"}, "give explore_attention its second_sentence"),
        (pair, {"sentences": "AC"}, "sentences must be one of all to BB, got 'AC'"),
        (pair, {"sentences": "AB", "query": 3}, r"one of \[None, 0, 1, 2\], got 3"),
        (pair, {"sentences": "AB", "query": 0, "key": 0}, r"one of \[None, 3, 4\], got 0"),
        (
            lambda: AttentionExplorer(cross().data, pair().data),
            {"sentences": "AB"},
            r"sentences must be one of \['all'\], got 'AB'",
        ),
    ],
)
def test_sentences_and_tokens_outside_of_them_that_do_not_exist_are_refused(
    explorer, changes, message
):
    with pytest.raises(CourseError, match=message):
        explorer().select(**changes)


@pytest.mark.parametrize("index", [0, 5, -1, 1.5])
def test_a_second_sentence_outside_the_tokens_is_refused(own_messages, index):
    tokens = list("abcde")
    with pytest.raises(CourseError, match=f"a whole number from 1 to 4, got {index}"):
        explore_attention(torch.eye(5), tokens, second_sentence=index)


@pytest.mark.parametrize("kind", ["cross", "causal"])
def test_a_second_sentence_needs_self_attention(kind):
    with pytest.raises(CourseError, match=f"for kind='self', got kind='{kind}'"):
        explore_attention(torch.eye(2), QUERIES, QUERIES, kind=kind, second_sentence=1)
