import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.decoding import greedy_decode, sample_decode, sampling_probabilities
from course_lib.decoding.sampling import _draw
from course_lib.model import preset

EOS = 2
RAGGED = [5, 1, 3, 6, 2]


def tiny(**changes):
    sizes = {"source_vocab": 7, "target_vocab": 7, "d_model": 8, "d_ff": 16, "n_heads": 2}
    return preset("small", **(sizes | {"n_layers": 1, "max_len": 16} | changes))


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def model(make_decoder):
    return make_decoder(tiny(), eos_bias=0.0)


@pytest.fixture
def source(make_source):
    return make_source(tiny(), RAGGED)


# A distribution to draw from


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 999),
    temperature=st.sampled_from([1e-300, 1e-6, 0.3, 1.0, 4.0, 1e300]),
    top_k=st.none() | st.integers(1, 12),
    top_p=st.none() | st.floats(0.01, 1.0),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16]),
)
def test_options_leave_probabilities_in_the_order_of_the_logits(
    seed, temperature, top_k, top_p, dtype
):
    logits = (5 * torch.randn(3, 9, generator=seeded(seed))).to(dtype)
    p = sampling_probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    torch.testing.assert_close(p.sum(-1), torch.ones(3, dtype=p.dtype))
    by_logit = p.gather(1, logits.argsort(dim=-1, descending=True))
    assert (by_logit.diff() <= 0).all()
    assert (by_logit[:, 0] > 0).all()


def test_without_options_the_probabilities_are_the_models():
    logits = torch.randn(2, 7, generator=seeded(0))
    torch.testing.assert_close(sampling_probabilities(logits), logits.softmax(-1))
    torch.testing.assert_close(
        sampling_probabilities(logits, top_k=99, top_p=1.0), logits.softmax(-1)
    )


def test_a_token_that_reaches_top_p_exactly_is_the_last_one():
    logits = torch.tensor([[math.log(2), 0.0, 0.0]], dtype=torch.float64)  # 1/2, 1/4, 1/4
    assert sampling_probabilities(logits, top_p=0.5).tolist() == [[1.0, 0.0, 0.0]]
    assert sampling_probabilities(logits, top_p=0.5 + 1e-9)[0, 1] > 0


def test_temperature_divides_the_logits():
    logits = torch.tensor([[math.log(4), math.log(1)]])
    assert sampling_probabilities(logits, temperature=0.5)[0].tolist() == pytest.approx(
        [16 / 17, 1 / 17]
    )
    assert sampling_probabilities(logits, temperature=2.0)[0].tolist() == pytest.approx(
        [2 / 3, 1 / 3]
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"top_k": 1}, [1, 0, 0, 0]),
        ({"top_k": 2}, [5 / 8, 3 / 8, 0, 0]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"top_p": 1e-50}, [1, 0, 0, 0]),  # in float32 it would be 0
        ({"top_p": 0.49}, [1, 0, 0, 0]),
        ({"top_p": 0.51}, [5 / 8, 3 / 8, 0, 0]),
        ({"top_p": 0.81}, [50 / 95, 30 / 95, 15 / 95, 0]),
        ({"top_k": 2, "top_p": 0.6}, [1, 0, 0, 0]),  # of the two left, the first has 5/8
        ({"temperature": 0.5, "top_p": 0.65}, [1, 0, 0, 0]),  # which gives the first 0.685
    ],
)
def test_only_the_most_probable_tokens_keep_their_probability(options, expected):
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):
        p = sampling_probabilities(logits[:, order], **options)[0]
        assert p.tolist() == pytest.approx([expected[i] for i in order], abs=1e-6)


# A draw


def test_a_token_is_drawn_where_its_slice_lies():
    p = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]]).expand(5, -1)
    draws = torch.tensor([0.0, 0.249, 0.25, 0.9, 1 - 2**-53], dtype=torch.float64)
    assert _draw(p, draws).tolist() == [1, 1, 3, 3, 3]


@pytest.mark.parametrize("total", [0.99999, 1.00001])
def test_rounding_in_the_sum_never_draws_an_impossible_token(total):
    p = torch.tensor([[0.5, total - 0.5, 0.0]])
    assert _draw(p, torch.tensor([1 - 2**-53], dtype=torch.float64)).tolist() == [1]


# Whole sentences


def test_first_tokens_come_as_often_as_the_model_says(model, source):
    rows, n = source[:1].expand(4000, -1), 4000
    first = sample_decode(model, rows, 1, EOS, 1, generator=seeded(0))[:, 0]
    with torch.no_grad():
        p = model.eval()(source[:1], torch.tensor([[1]]))[0, -1].softmax(-1)
    error = (first.bincount(minlength=7) / n - p).abs()
    assert (error < 4.5 * (p * (1 - p) / n).sqrt() + 1e-9).all()
    assert (p > 0.02).sum() > 2  # there was something to get wrong


@pytest.mark.slow
def test_batched_cached_sampling_draws_what_recomputing_one_by_one_draws(
    tiny_config, make_decoder, make_source, next_log_probs
):
    model = make_decoder(tiny_config)
    bos, source = 1 - tiny_config.pad_id, make_source(tiny_config, RAGGED)
    right, left = (
        sample_decode(
            model, padded, bos, EOS, 9, generator=[seeded(row) for row in range(len(RAGGED))]
        )
        for padded in (source, make_source(tiny_config, RAGGED, left=True))
    )
    for row, length in enumerate(RAGGED):
        alone = source[row : row + 1, :length]
        output = [bos]
        for draw in torch.rand(9, generator=seeded(row), dtype=torch.float64).tolist():
            upper = next_log_probs(model, alone, [output])[0].exp().cumsum(0)
            output.append(int((upper <= draw * upper[-1]).sum()))
            if output[-1] == EOS:
                break
        for together in (right, left):
            padding = [tiny_config.pad_id] * (together.size(1) - len(output) + 1)
            assert together[row].tolist() == output[1:] + padding


@pytest.mark.slow
def test_the_limit_of_every_option_is_greedy_decoding(tiny_config, make_decoder, make_source):
    model, source = make_decoder(tiny_config), make_source(tiny_config, RAGGED)
    bos = 1 - tiny_config.pad_id
    greedy = greedy_decode(model, source, bos, EOS, 9)
    for options in ({"temperature": 1e-9}, {"top_k": 1}, {"top_p": 1e-9}):
        sampled = sample_decode(model, source, bos, EOS, 9, generator=seeded(5), **options)
        assert torch.equal(sampled, greedy), options


def test_a_seed_gives_the_same_sample_again_and_another_seed_another(model, source):
    first, again, other = (
        sample_decode(model, source, 1, EOS, 9, generator=seeded(s)) for s in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert first.shape != other.shape or (first != other).any()


def test_rows_with_the_same_source_are_drawn_apart(model, source):
    rows = sample_decode(model, source[:1].expand(8, -1), 1, EOS, 9, generator=seeded(0))
    assert len(rows.unique(dim=0)) > 1


def test_a_rows_sample_does_not_depend_on_the_other_rows(model, source):
    first = sample_decode(model, source, 1, EOS, 9, generator=seeded(3))
    changed = source.clone()
    changed[[0, 2, 4]] = 3  # other sentences, of other lengths
    second = sample_decode(model, changed, 1, EOS, 9, generator=seeded(3))
    for row in (1, 3):
        one, two = first[row].tolist(), second[row].tolist()
        assert one[: len(two)] == two[: len(one)]
    assert first.shape != second.shape or (first != second).any()


def test_a_row_with_its_own_generator_says_the_same_alone_and_with_more_time(model, source):
    together = sample_decode(
        model, source, 1, EOS, 16, generator=[seeded(row) for row in range(len(source))]
    ).tolist()
    for row, length in enumerate(RAGGED):
        (alone,) = sample_decode(
            model, source[row : row + 1, :length], 1, EOS, 5, generator=[seeded(row)]
        ).tolist()
        assert together[row][: len(alone)] == alone


def test_the_global_random_numbers_are_left_alone(model, source):
    before = torch.get_rng_state()
    sample_decode(model, source, 1, EOS, 9, generator=seeded(0))
    assert torch.equal(torch.get_rng_state(), before)


def test_sampling_stops_at_max_len_and_when_all_sentences_have_ended(make_decoder, source):
    never, at_once = make_decoder(tiny(), eos_bias=-1e9), make_decoder(tiny(), eos_bias=1e9)
    assert sample_decode(never, source, 1, EOS, 6, generator=seeded(0)).shape == (5, 6)
    assert sample_decode(at_once, source, 1, EOS, 6, generator=seeded(0)).tolist() == [[EOS]] * 5


def test_sampling_uses_no_dropout_and_leaves_the_model_in_its_mode(make_decoder, source):
    model = make_decoder(tiny(residual_dropout=0.5)).train()
    first, again = (sample_decode(model, source, 1, EOS, 9, generator=seeded(0)) for _ in range(2))
    assert torch.equal(first, again)
    assert model.training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive and finite, got 0.0"),
        ({"top_k": 0}, "top_k must be a positive whole number of tokens, or None for all, got 0"),
        ({"top_p": 1.1}, r"must lie in \(0, 1\], or be None for all, got 1.1"),
        ({"max_len": 17}, "max_len must lie in 1 … 16 .*got 17"),
        ({"generator": []}, "one generator or one for each of 5 rows, got 0"),
    ],
)
def test_sampling_that_makes_no_sense_is_refused(options, message, model, source):
    with pytest.raises(ValueError, match=message):
        sample_decode(model, source, 1, EOS, **({"max_len": 9, "generator": seeded(0)} | options))
