"""From words to batches: corpora, vocabularies, padding and bucketing."""

from course_lib.data.batching import (
    Batch,
    EncodedPair,
    bucket,
    collate,
    epoch_batches,
    pad_sequences,
    teacher_forcing,
)
from course_lib.data.corpora import CORPORA, Corpus, load_corpus, two_sentences
from course_lib.data.pairs import Pair, SentencePair, TextPair
from course_lib.data.tokenizer import Tokenizer
from course_lib.data.words import EOS, PAD, SOS, UNK, Vocabulary, join_words, split_words

__all__ = [
    "CORPORA",
    "EOS",
    "PAD",
    "SOS",
    "UNK",
    "Batch",
    "Corpus",
    "EncodedPair",
    "Pair",
    "SentencePair",
    "TextPair",
    "Tokenizer",
    "Vocabulary",
    "bucket",
    "collate",
    "epoch_batches",
    "join_words",
    "load_corpus",
    "pad_sequences",
    "split_words",
    "teacher_forcing",
    "two_sentences",
]
