"""Language codes, their names, and the codes in the names of files."""

from __future__ import annotations

import re
from pathlib import Path

LANGUAGES = {
    "ar": "Arabic",
    "az": "Azerbaijani",
    "be": "Belarusian",
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "gl": "Galician",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
_CODES = {name.lower(): code for code, name in LANGUAGES.items()}
# The codes of three letters (ISO 639-3), as Tatoeba uses them, in the same order.
_THREE_LETTERS = (
    "ara aze bel bul ces dan deu ell eng spa est fin fra glg heb hin hrv hun ita jpn kor lit lav "
    "nld nor pol por ron rus swe tur ukr vie zho"
)
_SHORT = {code: code for code in LANGUAGES} | dict(
    zip(_THREE_LETTERS.split(), LANGUAGES, strict=True)
)


def language_name(code: str) -> str:
    """``German`` for ``de``, ``Galician and Portuguese`` for ``gl_pt``; an unknown code stays."""
    return " and ".join(LANGUAGES.get(part, part) for part in code.split("_"))


def language_in_name(path: Path) -> str | None:
    """``de`` for ``train.de.gz``, None if no part of the file's name is a language code."""
    return next((part for part in reversed(path.name.split(".")) if part in LANGUAGES), None)


def languages_in_name(path: Path) -> tuple[str, str] | None:
    """``("de", "en")`` for ``train.de-en.tsv``, None if no part is a pair of language codes."""
    for part in path.name.split("."):
        source, _, target = part.partition("-")
        if source in LANGUAGES and target in LANGUAGES:
            return source, target
    return None


def code_in_text(text: str) -> str | None:
    """``de`` for the headers "de", "text_de" and "German sentences", None for a sentence."""
    words = re.split(r"[\W_]+", text.strip().lower())
    if len(words) > 4 or re.search(r"[.?!]", text):
        return None
    names = (_CODES[word] for word in words if word in _CODES)
    codes = (
        _SHORT[word] for word in words if word in _SHORT and not re.search(r"\s", text.strip())
    )
    return next(names, next(codes, None))
