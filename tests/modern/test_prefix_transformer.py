"""One stack instead of two: the same logits however it is asked, in any batch."""

from dataclasses import replace

import pytest
import torch

from course_lib.data import Vocabulary
from course_lib.decoding import Decoding, Translator, beam_search, greedy_decode
from course_lib.model import KeyValueCache, record_attention
from course_lib.modern import (
    PREFIX_PRESETS,
    DecoderOnly,
    PrefixConfig,
    PrefixTransformer,
    join_pairs,
)
from course_lib.training import read_checkpoint, save_checkpoint
from course_lib.training.models import count_parameters

SOURCE = torch.tensor([[5, 6, 7, 8], [9, 4, 0, 0], [3, 0, 0, 0]])
TARGET = torch.tensor([[1, 5, 6], [1, 7, 7], [1, 4, 3]])
SIZES = {"vocab": 11, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 2, "max_len": 8}


@pytest.fixture(params=[{}, {"positions": "sinusoidal", "n_kv_heads": 2}, {"positions": "learned"}])
def model(request):
    torch.manual_seed(0)
    return PrefixTransformer(PrefixConfig(**SIZES | request.param)).eval()


def test_the_source_is_the_prefix_of_a_decoder_only_model(model):
    logits = model(SOURCE, TARGET)
    rows = [(s[s > 0].tolist(), t[1:].tolist()) for s, t in zip(SOURCE, TARGET, strict=True)]
    joined = join_pairs(rows, pad_id=0, bos_id=1, eos_id=2)
    plain = DecoderOnly(model.stack.config).eval()
    plain.load_state_dict(model.stack.state_dict())
    whole = plain(joined.tokens, prefix=joined.prefix)
    for row, length in enumerate(joined.prefix.tolist()):
        torch.testing.assert_close(logits[row], whole[row, length : length + 3])


def test_in_one_pass_in_two_and_token_by_token_the_logits_are_the_same(model):
    logits, memory = model(SOURCE, TARGET), model.encode(SOURCE)
    assert memory.shape[:3] == (3, 2, 2) and memory.size(4) == SOURCE.size(1)
    torch.testing.assert_close(model.decode(TARGET, memory, SOURCE), logits)
    cache = KeyValueCache(2)
    steps = [model.decode(TARGET[:, i : i + 1], memory, SOURCE, cache=cache) for i in range(3)]
    torch.testing.assert_close(torch.cat(steps, dim=1), logits)


def test_a_row_does_not_depend_on_the_rows_beside_it(model):
    alone = model(SOURCE[2:, :1], TARGET[2:])
    torch.testing.assert_close(model(SOURCE, TARGET)[2:], alone)


def test_a_later_target_token_changes_nothing_before_it_and_the_source_is_read(model):
    logits = model(SOURCE, TARGET)
    later, source = TARGET.clone(), SOURCE.clone()
    later[:, 2], source[:, 0] = 10, 10
    assert torch.equal(model(SOURCE, later)[:, :2], logits[:, :2])
    assert not torch.isclose(model(source, TARGET), logits).all()


def test_greedy_and_a_beam_of_one_find_the_same(model):
    greedy = greedy_decode(model, SOURCE, 1, 2, 6).tolist()
    beams = beam_search(model, SOURCE, 1, 2, 6, width=1, length_penalty=0.0)
    for row, (beam,) in zip(greedy, beams, strict=True):
        assert row[: len(beam.tokens)] == beam.tokens
    assert [len(b) for b in beam_search(model, SOURCE, 1, 2, 6, width=3, n_best=2)] == [2] * 3


def test_every_attention_of_both_sides_is_recorded(model):
    with record_attention(model) as record:
        model(SOURCE, TARGET)
    assert record.kinds == ("decoder",)
    weights = record.decoder  # (layers, batch, heads, query, key)
    assert weights.shape == (2, 3, 4, 7, 7)
    assert (weights[:, :, :, 4:].sum(dim=-1) - 1).abs().max() < 1e-5
    assert weights[:, 2, :, 4:, :3].eq(0).all()  # nobody sees padding, which is on the left


def test_it_is_saved_loaded_and_counted_as_the_other_models_are(tmp_path, model):
    words = Vocabulary(["<pad>", "<bos>", "<eos>", *"abcdefgh"])
    translator = Translator(model, words, words)
    save_checkpoint(tmp_path / "model.safetensors", translator)
    loaded, _, _ = read_checkpoint(tmp_path / "model.safetensors")
    assert loaded.model.config == model.config
    assert torch.equal(loaded.model(SOURCE, TARGET), model(SOURCE, TARGET))
    assert count_parameters(model.config) == sum(p.numel() for p in model.parameters())
    for decoding in (Decoding(), Decoding("beam", width=2), Decoding("sample")):
        one, two = loaded.translate_texts(["a b c", "d"], decoding=decoding)
        assert loaded.translate("d", decoding).target == two.target and len(one.source) == 3


@pytest.mark.parametrize("changes", [{"windows": (4,)}, {"d_latent": 4, "d_rotary": 2}])
def test_what_keeps_no_plain_keys_of_the_whole_source_is_refused(changes):
    with pytest.raises(ValueError, match="keeps keys and values of the whole source"):
        PrefixConfig(**SIZES | changes)


@pytest.mark.usefixtures("own_messages")
def test_what_does_not_fit_is_refused(model):
    with pytest.raises(ValueError, match="max_len"):
        model(SOURCE.repeat(1, 3), TARGET)
    with pytest.raises(ValueError, match="max_len"):
        model.encode(SOURCE.repeat(1, 3))
    with pytest.raises(ValueError, match="of one batch, got 3, 2 and 3 rows"):
        model.decode(TARGET, model.encode(SOURCE[:2]), SOURCE)


def test_both_presets_have_as_many_parameters_as_the_small_model_with_one_vocabulary():
    sizes = [count_parameters(replace(each, vocab=1586)) for each in PREFIX_PRESETS.values()]
    assert max(sizes) / min(sizes) < 1.01 and 1.1e6 < min(sizes) < 1.15e6
