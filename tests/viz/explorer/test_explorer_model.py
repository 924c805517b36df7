"""A model's record becomes an explorer with a tab for each kind of attention."""

import json
import sys
import types

import numpy as np
import pytest
import torch

from course_lib.errors import CourseError
from course_lib.model import AttentionRecord, Transformer, preset, record_attention
from course_lib.modern import PREFIX_PRESETS, PrefixTransformer
from course_lib.viz import explore_model
from course_lib.viz.explorer.explorer_pack import pack

SOURCE = ["der", "alte", "Hund", ",", "<pad>"]
WRITTEN = ["the", "old", "dog", "<eos>"]


def record_of(source, target=None):
    torch.manual_seed(0)
    model = Transformer(preset("small")).eval()
    with torch.no_grad(), record_attention(model) as record:
        if target is None:
            model.encode(torch.tensor(source))
        else:
            model(torch.tensor(source), torch.tensor(target))
    return record


@pytest.fixture(scope="module")
def record():
    return record_of([[5, 6, 7, 8, 0]], [[1, 5, 6, 7]])


def test_each_tab_has_its_weights_and_its_tokens(record):
    shown = explore_model(record, WRITTEN, SOURCE)
    reads = ["<bos>", *WRITTEN[:-1]]
    expected = {
        "self": (record.encoder, SOURCE, SOURCE),
        "causal": (record.decoder, WRITTEN, reads),
        "cross": (record.cross, WRITTEN, SOURCE),
    }
    for kind, (weights, queries, keys) in expected.items():
        data = shown.select(kind=kind).data
        assert np.abs(data.weights - weights[:, 0].numpy()).max() < 1e-6
        assert (data.query_tokens, data.key_tokens) == (tuple(queries), tuple(keys))
        languages = tuple("german" if tokens is SOURCE else "english" for tokens in (queries, keys))
        assert data.languages == languages


def test_padding_is_masked_and_so_is_what_comes_later(record):
    shown = explore_model(record, WRITTEN, SOURCE)
    for kind, queries in (("self", 5), ("cross", 4)):
        allowed = shown.select(kind=kind).data.allowed
        assert allowed.shape == (queries, 5)
        assert allowed[:, :4].all()
        assert not allowed[:, 4].any()
    assert (shown.select(kind="causal").data.allowed == np.tri(4, dtype=bool)).all()


def test_gold_links_belong_to_the_cross_attention(record):
    shown = explore_model(record, WRITTEN, SOURCE, gold=[(0, 0), (2, 2)])
    assert shown.data.gold == ()
    assert shown.select(kind="cross").data.gold == ((0, 0), (2, 2))
    assert repr(shown).count("Closest to the gold alignment") == 1


def test_queries_and_keys_are_stored_of_the_kinds_that_were_asked_for(record):
    plain, one = (
        explore_model(record, WRITTEN, SOURCE, products=kinds) for kinds in ((), ["cross"])
    )
    assert one.data.queries is None
    data = one.select(kind="cross").data
    assert data.d_head == 32
    assert np.abs(data.queries - record.queries("cross")[:, 0].numpy()).max() < 1e-6
    size = [len(pack(*shown._shown.values())) for shown in (plain, one)]
    assert size[1] > size[0] + 2 * 2 * 4 * 9 * 32 * 0.8  # two bytes a number, deflated a little


def test_the_words_say_which_attention_they_are_of(record):
    text = repr(explore_model(record, WRITTEN, SOURCE, title="Model").select(kind="cross"))
    assert text.startswith("Model, cross-attention, layer 0, head 0. Heatmap of 4 queries")
    for kind in ("self-attention", "causal self-attention", "cross-attention"):
        assert f"Mean entropy of each head of the {kind} in nats" in text


def test_an_encoder_alone_has_one_tab():
    record = record_of([[5, 6, 7, 8, 9]])
    assert record.kinds == ("encoder",)
    shown = explore_model(record, (), [*SOURCE[:4], "."])
    assert shown.data.kind == "self"
    assert len(shown._shown) == 1


def test_the_same_explorer_gives_the_same_markup(record):
    first, second = (explore_model(record, WRITTEN, SOURCE).to_html() for _ in range(2))
    assert first == second


def test_a_stored_explorer_of_the_small_model_stays_below_100_kb(record, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    bundle = explore_model(record, WRITTEN, SOURCE, products=["cross"])._repr_mimebundle_()
    assert len(json.dumps(bundle)) < 100_000


def test_a_batch_is_refused():
    record = record_of([[5, 6], [7, 8]], [[1, 5], [1, 6]])
    with pytest.raises(CourseError, match="one sentence pair, got a record of a batch of 2: run"):
        explore_model(record, ["a", "b"], ["c", "d"])


def test_an_empty_record_is_refused():
    with pytest.raises(ValueError, match="no encoder attention was recorded: call the model"):
        explore_model(AttentionRecord(), WRITTEN, SOURCE)


def test_tokens_of_another_sentence_are_refused(record):
    with pytest.raises(ValueError, match="do the tokens belong to these weights"):
        explore_model(record, WRITTEN, SOURCE[:-1])


@pytest.mark.usefixtures("own_messages")
def test_products_of_an_unknown_kind_are_refused(record):
    with pytest.raises(CourseError, match="may name self, causal, cross, got 'decoder': the enc"):
        explore_model(record, WRITTEN, SOURCE, products=["decoder"])


def test_one_stack_has_one_kind_of_attention_with_four_quarters():
    source = SOURCE[:4]
    torch.manual_seed(0)
    model = PrefixTransformer(PREFIX_PRESETS["modern"]).eval()
    with torch.no_grad(), record_attention(model) as record:
        model(torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 5, 6, 7]]))
    shown = explore_model(record, WRITTEN, source, gold=[(2, 2)], products=("self",))
    data = shown.data
    assert data.query_tokens == data.key_tokens == (*source, "<bos>", *WRITTEN[:-1])
    assert np.abs(data.weights - record.decoder[:, 0].numpy()).max() < 1e-6
    assert data.allowed[:, :4].all() and not data.allowed[:4, 4:].any()
    assert (data.allowed[4:, 4:] == np.tri(4, dtype=bool)).all()
    assert data.second_sentence == 4 and data.gold == ((2, 6),) and data.queries is not None
    assert "from sentence B to sentence A" in repr(shown.select(sentences="BA", layer=3))
