"""From text to batches: corpora, tokenizers, padding and bucketing."""

from course_lib.data.batching import (
    Batch,
    EncodedPair,
    bucket,
    collate,
    epoch_batches,
    pad_sequences,
    teacher_forcing,
)
from course_lib.data.built_in_corpora import CORPORA, two_sentences
from course_lib.data.cleaning import CleaningReport, clean
from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.corpus_registry import corpus_summaries, load_corpus
from course_lib.data.download import cache_folder
from course_lib.data.file_corpus import file_corpus
from course_lib.data.hugging_face_corpus import hub_corpus
from course_lib.data.json_files import read_json_lines
from course_lib.data.pairs import Pair, SentencePair, TextPair
from course_lib.data.subwords import Subwords, load_tokenizer, train_bpe
from course_lib.data.table_files import read_tsv
from course_lib.data.text_files import count_lines, read_lines, read_pairs, stream_lines
from course_lib.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, is_blank, visible
from course_lib.data.vocabulary import Vocabulary, join_words, split_words

__all__ = [
    "BOS",
    "CORPORA",
    "EOS",
    "PAD",
    "UNK",
    "Batch",
    "CleaningReport",
    "Corpus",
    "EncodedPair",
    "Pair",
    "SentencePair",
    "Subwords",
    "TextPair",
    "Tokenizer",
    "Vocabulary",
    "bucket",
    "cache_folder",
    "clean",
    "collate",
    "corpus_summaries",
    "count_lines",
    "epoch_batches",
    "file_corpus",
    "hub_corpus",
    "is_blank",
    "join_words",
    "load_corpus",
    "load_tokenizer",
    "pad_sequences",
    "read_json_lines",
    "read_lines",
    "read_pairs",
    "read_tsv",
    "split_words",
    "stream_lines",
    "teacher_forcing",
    "text_corpus",
    "train_bpe",
    "two_sentences",
    "visible",
]
