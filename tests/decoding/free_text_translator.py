"""A small translator with language evidence: BPE of the grammar's sentences, random weights."""

import string

import torch

from course_lib.data import load_corpus, train_bpe
from course_lib.decoding import Translator, known_characters, language_evidence
from course_lib.model import Transformer, preset


def free_text_translator(*, max_len=128):
    """It reads what the grammar's words are made of, and translates into noise."""
    pairs = load_corpus("grammar_de_en").pairs("train", 2000)
    sources = _written([pair.source_text for pair in pairs])
    targets = _written([pair.target_text for pair in pairs])
    vocabulary = train_bpe([*sources, *targets], 1500)
    torch.manual_seed(0)
    sizes = {"source_vocab": len(vocabulary), "target_vocab": len(vocabulary), "max_len": max_len}
    model = Transformer(preset("small", d_model=16, d_ff=32, n_layers=1, tying="all", **sizes))
    return Translator(
        model,
        vocabulary,
        vocabulary,
        language_evidence=language_evidence(vocabulary, sources, targets),
        known_characters=known_characters(sources),
    )


def _written(texts):
    """The grammar's lines, which are in small letters, also with capitals, and all digits."""
    with_capitals = [text.title().replace(".", "!") for text in texts]
    return [*texts, *with_capitals, " ".join(string.ascii_letters + string.digits)]
