"""Language codes, their names, and the codes in the names of files."""

from __future__ import annotations

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
