import pytest
import torch

from course_lib.decoding import evaluating, greedy_decode
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


def test_a_part_that_was_in_another_mode_is_left_in_it():
    model = make_model().train()
    model.encoder.eval()  # frozen, say
    greedy_decode(model, ragged_source(), BOS, EOS, 9)
    assert model.training and model.decoder.training
    assert not any(module.training for module in model.encoder.modules())


def test_the_model_returns_to_its_mode_after_an_error():
    model = make_model().train()
    with pytest.raises(RuntimeError), evaluating(model):
        raise RuntimeError
    assert model.training


@pytest.mark.parametrize("max_len", [0, 257])
def test_a_length_that_the_model_cannot_say_is_refused(max_len):
    with pytest.raises(ValueError, match=rf"must lie in 1 … 256 .*got {max_len}"):
        greedy_decode(make_model(), ragged_source(), BOS, EOS, max_len)
