"""Every corpus that has a name, and how to load it by that name."""

from __future__ import annotations

from course_lib.data.built_in_corpora import CORPORA
from course_lib.data.corpus import Corpus
from course_lib.data.hugging_face_corpus import hub_corpus
from course_lib.data.published_corpora import PUBLISHED_CORPORA
from course_lib.errors import CourseError
from course_lib.wording import did_you_mean

HUB = "hub:OWNER/NAME[:CONFIG[:SOURCE-TARGET]]"


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
