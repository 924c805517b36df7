import math

import pytest
import torch

from course_lib.decoding import Hypothesis, beam_search, evaluating, greedy_decode
from course_lib.decoding.beam import length_normaliser
from course_lib.model import Transformer, preset

EOS = 2
RAGGED = [5, 1, 3, 6, 2]


def specials(config):
    """The begin and end tokens: the presets' pad id is 0 or 1."""
    return 1 - config.pad_id, EOS


def tiny(**changes):
    sizes = {"source_vocab": 7, "target_vocab": 7, "d_model": 8, "d_ff": 16, "n_heads": 2}
    return preset("small", **(sizes | {"n_layers": 1, "max_len": 16} | changes))


def ranked(log_prob, length, length_penalty):
    return log_prob / ((5 + length) / 6) ** length_penalty


def log_prob_of(model, source, bos, tokens):
    """By one pass of teacher forcing, source (1, S)."""
    with evaluating(model):
        logits = model(source, torch.tensor([[bos, *tokens[:-1]]]))
    return float(logits.log_softmax(-1)[0].gather(1, torch.tensor(tokens)[:, None]).sum())


def greedy_tokens(model, source, bos, max_len):
    """Without the pads after the end, of which a random model may say some before."""
    rows = greedy_decode(model, source, bos, EOS, max_len).tolist()
    return [row[: row.index(EOS) + 1] if EOS in row else row for row in rows]


def slow_beam_search(next_log_probs, model, source, bos, max_len, *, width):
    """One sentence, no cache, no batch, no early stop: what beam search means.

    Returns (log-probability, tokens) of all hypotheses, for ``best_first`` to rank.
    """
    beams, greedy, found = [(0.0, [])], [], []
    while beams:
        scored = next_log_probs(model, source, [[bos, *tokens] for _, tokens in beams]).tolist()
        continued = sorted(
            (log_prob + more, [*tokens, token])
            for (log_prob, tokens), row in zip(beams, scored, strict=True)
            for token, more in enumerate(row)
        )[::-1]
        kept = continued[:width]
        if greedy is not None:
            row = scored[[tokens for _, tokens in beams].index(greedy)]
            greedy = [*greedy, row.index(max(row))]
            if greedy not in [tokens for _, tokens in kept]:
                kept[-1] = next(c for c in continued if c[1] == greedy)
            if greedy[-1] == EOS:
                greedy = None
        ended = [c for c in kept if c[1][-1] == EOS or len(c[1]) == max_len]
        beams = [c for c in kept if c not in ended]
        found += ended
    return found


def best_first(found, length_penalty):
    return sorted((ranked(lp, len(t), length_penalty), lp, t) for lp, t in found)[::-1]


def assert_same(hypotheses, expected):
    for hypothesis, (score, log_prob, tokens) in zip(hypotheses, expected, strict=True):
        assert hypothesis.tokens == tokens
        assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-9)
        assert hypothesis.score == pytest.approx(score, abs=1e-9)
        assert hypothesis.finished == (tokens[-1] == EOS)


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 4])
def test_batched_cached_search_finds_what_a_slow_search_one_by_one_finds(
    tiny_config, width, make_decoder, make_source, next_log_probs
):
    model = make_decoder(tiny_config, seed=width)
    bos, eos = specials(tiny_config)
    right, left = (
        beam_search(
            model,
            make_source(tiny_config, RAGGED, left=left),
            bos,
            eos,
            9,
            width=width,
            n_best=2,
        )
        for left in (False, True)
    )
    source = make_source(tiny_config, RAGGED)
    for i, length in enumerate(RAGGED):
        alone = source[i : i + 1, :length]
        slow = slow_beam_search(next_log_probs, model, alone, bos, 9, width=width)
        for hypotheses in (right[i], left[i]):
            assert_same(hypotheses, best_first(slow, 0.6)[:2])


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3, 20])
def test_stopping_early_changes_no_result(width, make_decoder, make_source, next_log_probs):
    config, n_best = tiny(), min(width, 3)
    source = make_source(config, RAGGED)
    for seed in range(3):
        model = make_decoder(config, seed=seed, eos_bias=2.0)
        slow = [
            slow_beam_search(next_log_probs, model, row[None, :length], 1, 8, width=width)
            for row, length in zip(source, RAGGED, strict=True)
        ]
        for penalty in (0.0, 0.6, 3.0):
            options = {"width": width, "length_penalty": penalty, "n_best": n_best}
            found = beam_search(model, source, 1, EOS, 8, **options)
            for hypotheses, each in zip(found, slow, strict=True):
                assert_same(hypotheses, best_first(each, penalty)[:n_best])


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_holds_everything_finds_the_best_of_all_sentences(
    seed, length_penalty, make_decoder, make_source, next_log_probs
):
    config = tiny(target_vocab=5)
    model = make_decoder(config, seed=seed)
    source = make_source(config, [4])
    every, prefixes = [], [(0.0, [1])]  # all sentences of up to four tokens
    for length in range(1, 5):
        table = next_log_probs(model, source, [tokens for _, tokens in prefixes]).tolist()
        longer = [
            (before + row[token], [*tokens, token])
            for (before, tokens), row in zip(prefixes, table, strict=True)
            for token in range(5)
        ]
        ends = [c for c in longer if c[1][-1] == EOS or length == 4]
        every += [(ranked(lp, length, length_penalty), lp, tokens[1:]) for lp, tokens in ends]
        prefixes = [c for c in longer if c not in ends]
    assert len(every) == 1 + 4 + 16 + 64 * 5
    options = {"width": 5**4, "length_penalty": length_penalty, "n_best": 12}
    assert_same(
        beam_search(model, source, 1, EOS, 4, **options)[0], sorted(every, reverse=True)[:12]
    )


@pytest.mark.slow
@pytest.mark.parametrize("left", [False, True])
def test_a_beam_of_one_says_what_greedy_decoding_says(tiny_config, left, make_decoder, make_source):
    bos, eos = specials(tiny_config)
    source = make_source(tiny_config, RAGGED * 4, left=left)
    model = make_decoder(tiny_config, seed=int(left))
    found = beam_search(model, source, bos, eos, 9, width=1)
    assert [best.tokens for (best,) in found] == greedy_tokens(model, source, bos, 9)


@pytest.fixture(scope="module")
def greedy_cases(make_decoder, make_source, unchecked):
    """Five models, each with 15 sentences and their greedy (log-probability, length)."""
    cases, lengths = [], RAGGED * 3
    source = make_source(tiny(), lengths)
    for seed in range(5):
        model = make_decoder(tiny(), seed=seed)
        outputs = greedy_tokens(model, source, 1, 8)
        with unchecked():
            greedy = [
                (log_prob_of(model, row[None, :length], 1, tokens), len(tokens))
                for row, length, tokens in zip(source, lengths, outputs, strict=True)
            ]
        cases.append((model, source, greedy))
    return cases


@pytest.mark.slow
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("width", [2, 3, 5])
def test_the_best_hypothesis_never_scores_worse_than_the_greedy_one(
    width, length_penalty, greedy_cases
):
    for model, source, greedy in greedy_cases:
        found = beam_search(model, source, 1, EOS, 8, width=width, length_penalty=length_penalty)
        for (best,), (log_prob, length) in zip(found, greedy, strict=True):
            assert best.score >= ranked(log_prob, length, length_penalty) - 1e-9


class Table(Transformer):
    """Gives each prefix, written in letters, the probabilities in a table."""

    def __init__(self, table):
        super().__init__(tiny(target_vocab=3 + len("abcde")))
        self.table = table

    def decode(self, target, memory, source, *, cache=None):
        prefixes = cache.append(target)[:, 1:].tolist()
        logits = torch.full((len(prefixes), 1, self.config.target_vocab), -math.inf)
        for row, prefix in enumerate(prefixes):
            letters = "".join("abcde"[token - 3] for token in prefix)
            for letter, probability in self.table.get(letters, {".": 1.0}).items():
                token = EOS if letter == "." else 3 + "abcde".index(letter)
                logits[row, 0, token] = math.log(probability)
        return logits


def search(table, **options):
    found = beam_search(Table(table), torch.tensor([[3]]), 1, EOS, 5, **options)[0]
    return [("".join("abcde"[t - 3] for t in h.tokens if t != EOS), h.log_prob) for h in found]


def test_a_beam_finds_the_likelier_sentence_behind_a_less_likely_first_word():
    table = {"": {"a": 0.6, "b": 0.4}, "a": {"a": 0.5, "b": 0.5}}
    assert search(table, width=1) == [("aa", pytest.approx(math.log(0.3)))]
    assert search(table, width=2) == [("b", pytest.approx(math.log(0.4)))]


def test_the_greedy_sentence_stays_though_others_begin_better():
    few = dict.fromkeys("abcde", 0.2)
    table = {
        "": {"a": 0.52, "b": 0.48},
        "a": {"a": 0.4, "b": 0.3, "c": 0.3},
        "b": {"a": 0.5, "b": 0.5},
        "ba": few,
        "bb": few,
    }
    # After two words the two most_probable prefixes are ba and bb, 0.24 each, but aa ends at 0.208.
    assert search(table, width=2, length_penalty=0) == [("aa", pytest.approx(math.log(0.208)))]


def test_hypotheses_are_different_sentences_best_first_scored_as_promised(
    make_decoder, make_source
):
    config = tiny()
    model, source = make_decoder(config), make_source(config, RAGGED)
    for hypotheses in beam_search(model, source, 1, EOS, 8, width=6, n_best=6):
        assert len({tuple(h.tokens) for h in hypotheses}) == len(hypotheses) == 6
        scores = [h.score for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for h in hypotheses:
            assert h.score == pytest.approx(ranked(h.log_prob, len(h.tokens), 0.6))


@pytest.mark.slow
def test_a_higher_length_penalty_never_prefers_a_shorter_sentence(make_decoder, make_source):
    config = tiny(target_vocab=5)
    source, lengths = make_source(config, RAGGED), set()
    for seed in range(10):
        model = make_decoder(config, seed=seed)
        by_penalty = [
            [
                len(best.tokens)
                for (best,) in beam_search(
                    model, source, 1, EOS, 5, width=5**5, length_penalty=penalty
                )
            ]
            for penalty in (0.0, 0.6, 3.0)
        ]
        assert all(a <= b <= c for a, b, c in zip(*by_penalty, strict=True))
        lengths.add(tuple(map(sum, by_penalty)))
    assert any(a < c for a, _, c in lengths)


def test_the_search_stops_at_max_len_even_if_the_model_never_ends(make_decoder, make_source):
    config = tiny()
    model = make_decoder(config, eos_bias=-1e9)
    for hypotheses in beam_search(model, make_source(config, RAGGED), 1, EOS, 6, width=3, n_best=3):
        assert [(len(h.tokens), h.finished) for h in hypotheses] == [(6, False)] * 3


def test_each_sentence_may_have_a_limit_of_its_own(make_decoder, make_source):
    config = tiny()
    model, source = make_decoder(config, eos_bias=-1.0), make_source(config, RAGGED)
    limits = [2, 9, 1, 5, 7]
    together = beam_search(model, source, 1, EOS, limits, width=3, n_best=2)
    for row, length, limit, hypotheses in zip(source, RAGGED, limits, together, strict=True):
        alone = beam_search(model, row[None, :length], 1, EOS, limit, width=3, n_best=2)[0]
        assert [h.tokens for h in hypotheses] == [h.tokens for h in alone]
        assert max(len(h.tokens) for h in hypotheses) <= limit


def count_rows(monkeypatch, model):
    rows, decode = [], model.decode

    def counting(target, *args, **kwargs):
        rows.append(len(target))
        return decode(target, *args, **kwargs)

    monkeypatch.setattr(model, "decode", counting)
    return rows


def test_a_sentence_leaves_the_batch_when_nothing_better_can_come(
    monkeypatch, make_decoder, make_source
):
    config = tiny()
    model, source = make_decoder(config, eos_bias=1e9), make_source(config, RAGGED)
    rows = count_rows(monkeypatch, model)
    assert [best.tokens for (best,) in beam_search(model, source, 1, EOS, 9, width=3)] == [
        [EOS]
    ] * 5
    assert rows == [5]
    rows.clear()
    with torch.no_grad():
        model.output.bias[EOS] -= 1e9
    beam_search(model, source, 1, EOS, [1, 2, 3, 4, 5], width=3)
    assert rows[0] == 5
    assert rows[1] <= 4 * 3
    assert rows[-1] == 3


def test_a_beam_may_be_wider_than_the_vocabulary_and_than_all_there_is(make_decoder, make_source):
    config = tiny(target_vocab=3)
    model, source = make_decoder(config), make_source(config, [3, 2])
    found = beam_search(model, source, 1, EOS, 2, width=50, n_best=50)
    assert [len(hypotheses) for hypotheses in found] == [1 + 2 * 3] * 2
    for hypotheses in found:
        assert sum(math.exp(h.log_prob) for h in hypotheses) == pytest.approx(1)


def test_searching_uses_no_dropout_and_leaves_the_model_in_its_mode(make_decoder, make_source):
    config = tiny(residual_dropout=0.5)
    model, source = make_decoder(config).train(), make_source(config, RAGGED)
    first = beam_search(model, source, 1, EOS, 9, width=3)
    assert first == beam_search(model, source, 1, EOS, 9, width=3)
    assert model.training


def test_probabilities_are_summed_in_float32_even_for_a_bfloat16_model(make_decoder, make_source):
    config = tiny()
    model, source = make_decoder(config).bfloat16(), make_source(config, [4])
    ((best,),) = beam_search(model, source, 1, EOS, 9, width=3)
    assert best.log_prob != float(torch.tensor(best.log_prob).bfloat16())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width must be a positive whole number of hypotheses, got 0"),
        ({"width": 2, "n_best": 3}, "n_best must lie in 1 … width=2, got 3: search wider"),
        ({"width": 2, "n_best": 0}, "n_best must lie in 1 … width=2, got 0"),
        ({"width": 2, "length_penalty": -0.1}, "must be finite and not negative, got -0.1"),
        ({"width": 2, "length_penalty": math.nan}, "must be finite and not negative, got nan"),
        ({"width": 2, "max_len": 0}, "max_len must lie in 1 … 16 .*got 0"),
        ({"width": 2, "max_len": [5, 17]}, "max_len must lie in 1 … 16 .*got 17"),
        ({"width": 2, "max_len": [5]}, "one for each of 2 sentences, got 1 numbers"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(options, message, make_decoder, make_source):
    config = tiny()
    source = make_source(config, [3, 2])
    with pytest.raises(ValueError, match=message):
        beam_search(make_decoder(config), source, 1, EOS, **({"max_len": 9} | options))


def test_the_normaliser_is_one_for_a_single_token_and_grows():
    assert [length_normaliser(n, 1.0) for n in (1, 7, 13)] == [1, 2, 3]
    assert length_normaliser(7, 0.0) == 1
    assert (
        Hypothesis(
            tokens=[3, EOS], log_prob=-2.0, score=-2.0 / length_normaliser(2, 0.6), finished=True
        ).score
        > -2.0
    )
