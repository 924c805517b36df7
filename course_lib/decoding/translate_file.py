"""Translate a stream of lines: a line in, a line out, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from tqdm.auto import tqdm

from course_lib.decoding import Decoding, Translation, Translator, translate_free_text
from course_lib.errors import shortened

DELAY = 2.0  # seconds before a progress bar appears
BATCH_SIZE = 128  # sentences
SORT_WINDOW = 20 * BATCH_SIZE  # sentences among which batches of similar lengths are made


def warnings_for(translator: Translator, translation: Translation) -> Iterator[str]:
    """What a reader of the translation should know: unknown words, and a missing end."""
    yield from _unknown_words(translator, translation)
    if not translation.finished:
        yield "cut off: the model generated no end of sentence"


def _unknown_words(
    translator: Translator, translation: Translation, *, language: str = ""
) -> Iterator[str]:
    words = {token for token in translation.source if any(map(str.isalpha, token))}
    if none_known := len(words) > 1 and words <= set(translation.unknown):
        if language:
            yield f"This translator reads {language}, and knows none of these words."
        else:
            yield "This translator knows none of these words: is this its source language?"
    for word in () if none_known else translation.unknown:
        guess = translator.source_vocabulary.suggestion(word)
        yield f"the model does not know {shortened(word)}{guess}"


def one_line(translation: Translation) -> str:
    """Its text, which stays on one line whatever the words of the vocabulary are."""
    return " ".join(str(translation).splitlines())


def translate_free_lines(
    translator: Translator,
    texts: Sequence[str],
    *,
    decoding: Decoding,
    warn: Callable[[int, str], None],
) -> list[str]:
    """The translation of each German text on one line, by ``translate_free_text``.

    Args:
        warn: is told the index of a text and what a reader of one of its sentences should know.
    """
    lines = []
    results = translate_free_text(translator, texts, decoding=decoding, batch_size=BATCH_SIZE)
    for i, sentences in enumerate(results):
        for sentence in sentences:
            which = f"{shortened(sentence.source.strip())}: " if len(sentences) > 1 else ""
            for remark in sentence.remarks.values():
                warn(i, which + remark)
            if sentence.translation:
                for warning in _unknown_words(translator, sentence.translation, language="German"):
                    warn(i, warning)
        lines.append(" ".join("".join(map(str, sentences)).splitlines()).strip())
    return lines


def translate_lines(
    translator: Translator,
    lines: Iterable[str],
    *,
    decoding: Decoding,
    warn: Callable[[str], None],
    free: bool = False,
    total: int | None = None,
) -> Iterator[list[str]]:
    """Translate each line; an empty one stays empty, so that line i belongs to line i.

    The memory needed does not depend on how many lines there are. On a terminal, a progress bar
    appears after two seconds.

    Args:
        warn: is told of words that the model does not know, of translations that were cut off, and
            of lines that are truncated because they are too long for the model.
        free: whether a line may be any German text; see ``translate_free_text``.
        total: the number of lines, if it is known.

    Yields:
        The translations of the next lines: few at first, so that something is soon to be seen, then
        ``SORT_WINDOW`` at a time.
    """
    lines, start, size = iter(lines), 0, min(BATCH_SIZE, SORT_WINDOW)
    with tqdm(desc="translate", total=total, unit=" lines", disable=None, delay=DELAY) as bar:
        while block := list(islice(lines, size)):
            translate = translate_free_lines if free else _translate_block
            tell = partial(_warn_of_line, warn, start)
            yield translate(translator, block, decoding=decoding, warn=tell)
            bar.update(len(block))
            start, size = start + len(block), min(2 * size, SORT_WINDOW)


def _warn_of_line(warn: Callable[[str], None], start: int, i: int, /, remark: str) -> None:
    """Tell of line i of the lines that begin with line ``start``, both counted from 0."""
    warn(f"line {start + i + 1}: {remark}")


def _translate_block(
    translator: Translator,
    lines: list[str],
    *,
    decoding: Decoding,
    warn: Callable[[int, str], None],
) -> list[str]:
    """Translate lines as they are; ``warn`` is as in ``translate_free_lines``."""
    max_len = translator.model.config.max_len
    sentences = [translator.split(line) for line in lines]
    for i, tokens in enumerate(sentences):
        if len(tokens) > max_len:
            warn(i, f"{len(tokens)} tokens, only the first {max_len} are read")
            del tokens[max_len:]
    filled = [i for i, tokens in enumerate(sentences) if tokens]
    translations = translator.translate_all(
        [sentences[i] for i in filled], decoding=decoding, batch_size=BATCH_SIZE
    )
    texts = [""] * len(sentences)
    for i, translation in zip(filled, translations, strict=True):
        texts[i] = one_line(translation)
        for warning in warnings_for(translator, translation):
            warn(i, warning)
    return texts
