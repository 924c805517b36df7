"""What the small random models of the other tests show, on the translator that the course ships."""

import random

import pytest

from course_lib.data import BOS, EOS, load_corpus, pad_sequences
from course_lib.decoding import beam_search, evaluating, greedy_decode, length_normaliser
from course_lib.model import Transformer
from course_lib.training import load_translator

pytestmark = pytest.mark.xdist_group("pretrained")  # what it translates is shared

SENTENCES, TOGETHER, LONGEST, WIDTH, PENALTY = 200, 50, 40, 4, 0.6


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
    """200 unseen sentences, of like lengths together; each fifth has its words in a jumble, so that
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
def logits(translator, batches, specials, greedy):
    """What the whole model says after each prefix of the greedy outputs, (batch, length, vocab)."""
    whole = []
    for batch, cached in zip(batches, greedy, strict=True):
        prefixes = [[specials[0], *tokens[:-1]] for tokens in cached]
        target = pad_sequences(prefixes, translator.model.config.pad_id)
        with evaluating(translator.model):
            whole.append(translator.model(batch, target))
    return whole


@pytest.fixture(scope="module")
def beams(translator, batches, specials):
    return [search(translator.model, batch, specials) for batch in batches]


def search(model, batch, specials):
    found = beam_search(model, batch, *specials, LONGEST, width=WIDTH, length_penalty=PENALTY)
    return [best for (best,) in found]


@pytest.mark.slow
def test_cached_greedy_decoding_says_what_the_whole_model_says_for_each_token(
    specials, greedy, logits
):
    for cached, whole in zip(greedy, logits, strict=True):
        for tokens, row in zip(cached, whole, strict=True):
            assert row[: len(tokens)].argmax(dim=-1).tolist() == tokens
            assert tokens[-1] == specials[1] or len(tokens) == LONGEST


@pytest.mark.slow
def test_a_cached_beam_finds_what_a_recomputed_beam_finds(
    translator, batches, specials, beams, unchecked
):
    twin = Recomputing(translator.model.config)
    twin.load_state_dict(translator.model.state_dict())
    for batch, cached in zip(batches, beams, strict=True):
        with unchecked():
            again = search(twin, batch, specials)
        assert [best.tokens for best in again] == [best.tokens for best in cached]
        assert [b.score for b in again] == pytest.approx([b.score for b in cached], abs=1e-4)


@pytest.mark.slow
def test_a_beam_never_scores_worse_than_greedy_and_sometimes_better(greedy, logits, beams):
    gains = []
    for cached, whole, found in zip(greedy, logits, beams, strict=True):
        for tokens, row, best in zip(cached, whole.log_softmax(-1), found, strict=True):
            log_prob = float(row[range(len(tokens)), tokens].sum())
            gains.append(best.score - log_prob / length_normaliser(len(tokens), PENALTY))
    assert len(gains) == SENTENCES
    assert min(gains) > -1e-4 and max(gains) > 0.01
