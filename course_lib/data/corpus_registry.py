"""Every corpus that has a name, and how to load it by that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from course_lib.data.built_in_corpora import CORPORA
from course_lib.data.corpus import Corpus
from course_lib.data.everyday import everyday_corpus, tatoeba_corpus
from course_lib.data.hugging_face_corpus import hub_corpus
from course_lib.data.languages import language_name
from course_lib.data.published_corpora import TED_PAIRS, multi30k_corpus, ted_corpus, wmt14_corpus
from course_lib.data.questions import questions_corpus
from course_lib.errors import CourseError
from course_lib.wording import did_you_mean

HUB = "hub:OWNER/NAME[:CONFIG[:SOURCE-TARGET]]"


@dataclass(frozen=True)
class PublishedCorpus:
    """How to load a published corpus, and a line about it that needs no download."""

    summary: str
    load: Callable[[], Corpus]


def _published_ted(source: str, target: str) -> PublishedCorpus:
    direction = f"{language_name(source)} to {language_name(target)}"
    return PublishedCorpus(f"{direction}: TED talks", partial(ted_corpus, source, target))


PUBLISHED_CORPORA: dict[str, PublishedCorpus] = {
    "multi30k": PublishedCorpus(
        "German to English: 29,000 descriptions of photographs", multi30k_corpus
    ),
    "tatoeba_de_en": PublishedCorpus(
        "German to English: short sentences of everyday life from tatoeba.org", tatoeba_corpus
    ),
    "everyday_de_en": PublishedCorpus(
        "German to English: those, with captions and the grammar's sentences", everyday_corpus
    ),
    "questions_fr_en": PublishedCorpus(
        "French to English: 52,000 questions from the web", questions_corpus
    ),
    "wmt14_de_en": PublishedCorpus(
        "German to English: 4.5 million pairs from parliament, news and the web", wmt14_corpus
    ),
    **{f"ted_{pair[0]}_{pair[1]}": _published_ted(*pair) for pair in TED_PAIRS},
}
"""The published corpora by name."""


def corpus_summaries() -> dict[str, str]:
    """One line about each corpus that ``load_corpus`` knows by name; nothing is downloaded."""
    built_in = {name: corpus.summary for name, corpus in CORPORA.items()}
    return built_in | {name: corpus.summary for name, corpus in PUBLISHED_CORPORA.items()}


def load_corpus(name: str) -> Corpus:
    """The corpus with this name: built in, published, or on the Hugging Face hub.

    A dataset of the hub is written ``hub:OWNER/NAME[:CONFIG[:SOURCE-TARGET]]``.
    ``hub:Helsinki-NLP/opus_books:en-fr`` translates from English to French, as the name of its
    configuration says; ``hub:Helsinki-NLP/opus_books:en-fr:fr-en`` translates the other way.

    Raises:
        CourseError: there is no corpus with this name, or it could not be downloaded.
    """
    if name.startswith("hub:"):
        return _load_from_hub(*name.removeprefix("hub:").split(":", maxsplit=2))
    if name in PUBLISHED_CORPORA:
        return PUBLISHED_CORPORA[name].load()
    if name not in CORPORA:
        raise CourseError(
            f"corpus must be one of {', '.join(corpus_summaries())} or {HUB}, got {name!r}"
            f"{did_you_mean(name, corpus_summaries())}"
        )
    return CORPORA[name]


def _load_from_hub(dataset: str, config: str = "", direction: str = "") -> Corpus:
    source, _, target = direction.partition("-")
    return hub_corpus(dataset, config or None, languages=(source, target) if direction else None)
