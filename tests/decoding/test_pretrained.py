"""What the small random models of the other tests show, on the translator that the course ships."""

import random

import pytest
import torch

from course_lib.data import BOS, EOS, load_corpus, pad_sequences
from course_lib.decoding import beam_search, evaluating, greedy_decode, length_normaliser
from course_lib.model import Transformer
from course_lib.training import load_translator

SENTENCES, TOGETHER, LONGEST, WIDTH, PENALTY = 500, 125, 40, 4, 0.6


class Recomputing(Transformer):
    """Forgets keys and values: each step computes the whole prefix again."""

    def decode(self, target, memory, source, *, cache=None):
        prefix = target if cache is None else cache.append(target)
        return super().decode(prefix, memory, source)[:, -target.size(1) :]


@pytest.fixture(scope="module")
def translator():
    return load_translator()


@pytest.fixture(scope="module")
def specials(translator):
    return [translator.target_vocabulary.ids[token] for token in (BOS, EOS)]


@pytest.fixture(scope="module")
def batches(translator):
    """500 unseen sentences, of like lengths together; each fifth has its words in a jumble, so that
    the translator is in warning.
    """
    pairs, chance = load_corpus("grammar_de_en").pairs("test", SENTENCES), random.Random(0)
    sources = [
        pair.source if i % 5 else chance.sample(pair.source, len(pair.source))
        for i, pair in enumerate(pairs)
    ]
    rows = sorted((translator.source_vocabulary.encode(source) for source in sources), key=len)
    pad_id = translator.model.config.pad_id
    return [pad_sequences(rows[i : i + TOGETHER], pad_id) for i in range(0, len(rows), TOGETHER)]


def upto(row, eos):
    return row[: row.index(eos) + 1] if eos in row else row


@pytest.fixture(scope="module")
def greedy(translator, batches, specials):
    """What the cached search says: a list of tokens a sentence."""
    outputs = [greedy_decode(translator.model, batch, *specials, LONGEST) for batch in batches]
    return [[upto(row, specials[1]) for row in batch.tolist()] for batch in outputs]


@pytest.fixture(scope="module")
def beams(translator, batches, specials):
    return [search(translator.model, batch, specials) for batch in batches]


def search(model, batch, specials):
    found = beam_search(model, batch, *specials, LONGEST, width=WIDTH, length_penalty=PENALTY)
    return [best for (best,) in found]


@pytest.mark.slow
def test_cached_greedy_decoding_says_what_the_whole_model_says_for_each_token(
    translator, batches, specials, greedy
):
    start, end = specials
    for batch, cached in zip(batches, greedy, strict=True):
        target = torch.full((len(batch), 1), start)
        with evaluating(translator.model):
            while target.size(1) <= LONGEST and not (target == end).any(dim=1).all():
                latest = translator.model(batch, target)[:, -1:].argmax(dim=-1)
                target = torch.cat((target, latest), dim=1)
        assert [upto(row, end) for row in target[:, 1:].tolist()] == cached


@pytest.mark.slow
def test_a_cached_beam_finds_what_a_recomputed_beam_finds(translator, batches, specials, beams):
    twin = Recomputing(translator.model.config)
    twin.load_state_dict(translator.model.state_dict())
    for batch, cached in zip(batches, beams, strict=True):
        again = search(twin, batch, specials)
        assert [best.tokens for best in again] == [best.tokens for best in cached]
        assert [b.score for b in again] == pytest.approx([b.score for b in cached], abs=1e-4)


def test_a_beam_never_scores_worse_than_greedy_and_sometimes_better(
    translator, batches, specials, greedy, beams
):
    model, gains = translator.model, []
    for batch, cached, found in zip(batches, greedy, beams, strict=True):
        target = pad_sequences([[specials[0], *tokens] for tokens in cached], model.config.pad_id)
        with evaluating(model):
            logits = model(batch, target[:, :-1])
        log_prob = logits.log_softmax(-1).gather(2, target[:, 1:, None])[:, :, 0]
        for row, tokens, best in zip(log_prob, cached, found, strict=True):
            score = float(row[: len(tokens)].sum()) / length_normaliser(len(tokens), PENALTY)
            gains.append(best.score - score)
    assert len(gains) == SENTENCES
    assert min(gains) > -1e-4 and max(gains) > 0.01
