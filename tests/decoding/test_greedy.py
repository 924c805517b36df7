import math

import numpy as np
import pytest
import torch

from course_lib.decoding import beam_search, evaluating, greedy_decode, sample_decode
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset

PAD, BOS, EOS = 0, 1, 2


def make_model(seed=0, **changes):
    torch.manual_seed(seed)
    sizes = {"source_vocab": 11, "target_vocab": 13, "d_model": 16, "d_ff": 32, "n_heads": 2}
    return Transformer(preset("small", **(sizes | changes)))


def decode_by_recomputing(model, source, max_len):
    """The slow way, one sentence, the whole prefix again for each token."""
    prefix = torch.tensor([[BOS]])
    with evaluating(model):
        for _ in range(max_len):
            latest = model(source, prefix)[:, -1].argmax(dim=-1)
            prefix = torch.cat((prefix, latest[:, None]), dim=1)
            if latest == EOS:
                break
    return prefix[0, 1:].tolist()


def ragged_source(batch=6, length=7):
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(3, 11, (batch, length), generator=generator)
    for row in range(batch):
        source[row, length - row :] = PAD
    return source


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_batched_cached_decoding_says_what_recomputing_one_by_one_says(seed, unchecked):
    model, source = make_model(seed), ragged_source()
    with torch.no_grad():
        model.output.bias[EOS] += 0.8  # so that sentences end at different steps
    together = greedy_decode(model, source, BOS, EOS, 12)
    lengths = set()
    for row in range(len(source)):
        with unchecked():
            alone = decode_by_recomputing(model, source[row : row + 1, : 7 - row], 12)
        lengths.add(len(alone))
        assert together[row, : len(alone)].tolist() == alone
        assert (together[row, len(alone) :] == PAD).all()
    assert together.size(1) == max(lengths)


def test_decoding_stops_at_max_len_even_if_the_model_never_ends():
    model = make_model()
    with torch.no_grad():
        model.output.bias[EOS] = -1e9
    assert greedy_decode(model, ragged_source(), BOS, EOS, 9).shape == (6, 9)


def test_decoding_ends_as_soon_as_every_sentence_has_ended():
    model = make_model()
    with torch.no_grad():
        model.output.bias[EOS] = 1e9
    assert greedy_decode(model, ragged_source(), BOS, EOS, 9).tolist() == [[EOS]] * 6


def test_decoding_uses_no_dropout_and_leaves_the_model_in_its_mode():
    model = make_model(residual_dropout=0.5).train()
    first = greedy_decode(model, ragged_source(), BOS, EOS, 9)
    assert torch.equal(first, greedy_decode(model, ragged_source(), BOS, EOS, 9))
    assert model.training
    greedy_decode(model.eval(), ragged_source(), BOS, EOS, 9)
    assert not model.training


@pytest.mark.parametrize("max_len", [0, 257])
def test_a_length_that_the_model_cannot_say_is_refused(max_len):
    with pytest.raises(ValueError, match=rf"must lie in 1 … 256 .*got {max_len}"):
        greedy_decode(make_model(), ragged_source(), BOS, EOS, max_len)


DECODERS = {
    "greedy": greedy_decode,
    "beam": lambda *arguments: beam_search(*arguments, width=3),
    "sample": lambda *arguments: sample_decode(*arguments, generator=torch.Generator()),
}


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
@pytest.mark.parametrize(("value", "named"), [(math.nan, "nan"), (math.inf, "inf")])
def test_every_decoder_refuses_a_model_that_diverged(decoder, value, named):
    model = make_model()
    with torch.no_grad():
        model.output.bias[4] = value
    with pytest.raises(CourseError, match=f"finite numbers, got {named}: did the model's training"):
        decoder(model, ragged_source(), BOS, EOS, 9)


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
def test_every_decoder_refuses_logits_that_become_nan_in_a_later_step(decoder):
    model = make_model(positions="learned")
    with torch.no_grad():
        model.target_embedding.positions.table[3] = math.nan
        model.output.bias[EOS] -= 9
    with pytest.raises(CourseError, match="got nan"):
        decoder(model, ragged_source(), BOS, EOS, 9)


def test_a_token_that_is_ruled_out_by_minus_infinity_is_no_divergence():
    model = make_model()
    with torch.no_grad():
        model.output.bias[4] = -math.inf
    for decode in DECODERS.values():
        decode(model, ragged_source(), BOS, EOS, 9)


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
def test_a_number_of_numpy_is_a_length_like_any_other(decoder, unchecked):
    model, source = make_model().eval(), ragged_source()
    expected = decoder(model, source, BOS, EOS, 9)
    with unchecked():
        found = decoder(model, source, BOS, EOS, np.int64(9))
        for wrong in (2.5, "9"):
            with pytest.raises(ValueError, match="max_len must"):
                decoder(model, source, BOS, EOS, wrong)
    assert found == expected if isinstance(found, list) else torch.equal(found, expected)


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
def test_a_source_of_int32_decodes_as_one_of_int64(decoder):
    model, source = make_model().eval(), ragged_source()
    expected = decoder(model, source, BOS, EOS, 9)
    found = decoder(model, source.int(), BOS, EOS, 9)
    assert found == expected if isinstance(found, list) else torch.equal(found, expected)


@pytest.mark.parametrize("decoder", DECODERS.values(), ids=DECODERS)
@pytest.mark.parametrize("eos_id", [-1, 13])
def test_every_decoder_refuses_an_end_that_is_no_token(decoder, eos_id):
    with pytest.raises(
        ValueError, match=f"eos_id must lie in 0 … 12, .* got {eos_id}: no sentence"
    ):
        decoder(make_model(), ragged_source(), BOS, eos_id, 9)
