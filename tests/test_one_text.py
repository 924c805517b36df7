"""One text where a list of texts or tokens is wanted is refused: Python would take its letters."""

import inspect
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import tokenizers
import torch

import course_lib.data
import course_lib.decoding
import course_lib.training
from course_lib.data import (
    Corpus,
    EncodedPair,
    SentencePair,
    Vocabulary,
    collate,
    file_corpus,
    join_words,
    pad_sequences,
    text_corpus,
    train_bpe,
)
from course_lib.decoding import (
    Translator,
    known_characters,
    language_evidence,
    translate_free_text,
)
from course_lib.errors import CourseError
from course_lib.model import Transformer, preset
from course_lib.training import Recipe, target_only_entropy, translation_scores

pytestmark = pytest.mark.usefixtures("own_messages")

LISTS = [Sequence[str], Iterable[str], Sequence[Sequence[str]], Iterable[Sequence[str]]]
LISTS += [tuple[str, str], tuple[str, ...]]
TEXT = "der hund"


@pytest.fixture(scope="module")
def words():
    return Vocabulary.from_sentences([["der", "hund"]])


@pytest.fixture(scope="module")
def subwords():
    return train_bpe([TEXT], 260)


@pytest.fixture(scope="module")
def translator(words):
    config = preset("small", source_vocab=6, target_vocab=6, d_model=8, n_heads=2, d_ff=8)
    torch.manual_seed(0)
    return Translator(Transformer(config), words, words)


def no_pairs(size):
    return []


# By function and parameter, a call with one text.
CALLS = {
    "Corpus.__init__ splits": lambda _: Corpus(
        "a", source_language="b", target_language="c", splits="train", sample=no_pairs
    ),
    "Vocabulary.__init__ words": lambda _: Vocabulary(TEXT),
    "Vocabulary.from_sentences sentences": lambda _: Vocabulary.from_sentences(TEXT),
    "Vocabulary.from_sentences specials": lambda _: Vocabulary.from_sentences([], specials=TEXT),
    "Vocabulary.encode tokens": lambda use: use("words").encode(TEXT),
    "Vocabulary.unknown tokens": lambda use: use("words").unknown(TEXT),
    "Vocabulary.join tokens": lambda use: use("words").join(TEXT),
    "Vocabulary.encode_texts texts": lambda use: use("words").encode_texts(TEXT),
    "Subwords.encode tokens": lambda use: use("subwords").encode(TEXT),
    "Subwords.unknown tokens": lambda use: use("subwords").unknown(TEXT),
    "Subwords.join tokens": lambda use: use("subwords").join(TEXT),
    "Subwords.encode_texts texts": lambda use: use("subwords").encode_texts(TEXT),
    "train_bpe texts": lambda _: train_bpe(TEXT, 300),
    "join_words words": lambda _: join_words(TEXT),
    "text_corpus languages": lambda _: text_corpus("a", "de", splits={"train": no_pairs}),
    "file_corpus languages": lambda use: file_corpus(use("file"), languages="de"),
    "Translator.translate_all sentences": lambda use: use("translator").translate_all(TEXT),
    "Translator.translate_texts texts": lambda use: use("translator").translate_texts(TEXT),
    "translate_free_text texts": lambda use: translate_free_text(use("translator"), TEXT),
    "language_evidence sources": lambda use: language_evidence(use("words"), TEXT, [TEXT]),
    "language_evidence targets": lambda use: language_evidence(use("words"), [TEXT], TEXT),
    "known_characters sources": lambda _: known_characters(TEXT),
    "translation_scores hypotheses": lambda _: translation_scores(TEXT, [*TEXT]),
    "translation_scores references": lambda _: translation_scores([*TEXT], TEXT),
    "Recipe.__init__ bugs": lambda _: Recipe(
        name="a", summary="", corpus="a", preset="small", lr=1.0, bugs="scores_by_width"
    ),
    # Where each of several is one text
    "translate_all, each": lambda use: use("translator").translate_all([TEXT]),
    "from_sentences, each": lambda _: Vocabulary.from_sentences([TEXT]),
    "pad_sequences, each": lambda _: pad_sequences([TEXT], 0),
    "collate, each": lambda _: collate([EncodedPair(TEXT, TEXT)], 0),
    "target_only_entropy, each": lambda _: target_only_entropy([TEXT]),
    "SentencePair": lambda _: SentencePair(TEXT, TEXT).source_text,
}
# What takes one text, too, and what is made by those above.
OTHERS = {"columns", "keys"}
MADE_BY = {"Tokenizer", "Translation"}
HUB = "hub_corpus languages"  # compared with the dataset's own, before anything else


def listed():
    """The parameters of the public functions of these packages that are lists of texts."""
    for package in (course_lib.data, course_lib.decoding, course_lib.training):
        for name in package.__all__:
            value = getattr(package, name)
            methods = [m for m in dir(value) if m == "__init__" or not m.startswith("_")]
            found = {f"{name}.{m}": getattr(value, m) for m in methods}
            for path, function in (found if inspect.isclass(value) else {name: value}).items():
                if not callable(function) or name in MADE_BY:
                    continue
                hints = get_type_hints(function, localns={"tokenizers": tokenizers})
                for parameter, hint in hints.items():
                    known = any(each in LISTS for each in (hint, *get_args(hint)))
                    if known and parameter not in {"return", *OTHERS}:
                        yield f"{path} {parameter}"


def test_every_list_of_texts_is_tried():
    assert {*listed()} - {HUB} == {name for name in CALLS if " " in name and "," not in name}


@pytest.mark.parametrize("call", CALLS)
def test_one_text_instead_of_a_list_is_refused(request, tmp_path, call):
    path = Path(tmp_path, "a.tsv")
    path.write_text("a\tb\n")

    def use(name):
        return path if name == "file" else request.getfixturevalue(name)

    with pytest.raises(CourseError, match="expected a list of .*got one text, |bugs must be among"):
        CALLS[call](use)
