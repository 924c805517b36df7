"""Where a German text is split into sentences: at end marks and line breaks, not at abbreviations.

The page of the translator splits in the same way; tests/decoding/free_text_cases.json holds both to
the same cases.
"""

from __future__ import annotations

import re

# End marks, the quotation marks and brackets that close after them, and the white space up to the
# next sentence; or a line break. A match begins where a run of marks or of white space begins:
# else a long one would be searched from each of its characters.
_MAYBE_END = re.compile(r"(?<![.!?…])([.!?…]+)([\"'“”‘’»«›‹)\]]*)(?:\s+|\Z)|(?<!\s)\s*[\n\r]\s*")
_LONGEST_WORD = 30  # characters before a point that are looked at
_LAST_WORD = re.compile(r"(?:\d+[.,])*[^\W_]+(?:['’][^\W_]+)*\Z")
# A day or another ordinal (3. Mai, 3.5.), a numeral of a king (Karl IV.), an initial or a part of
# an abbreviation (J. S. Bach, z. B.).
_NO_END = re.compile(r"\d{1,2}(?:\.\d{1,2})?|[IVX]+|[^\W\d_]")
_ABBREVIATIONS = frozenset(
    "abb abs allg anm aufl aug bd betr bsp bspw bzgl bzw ca chr co dez dipl dr ebd ehem eigtl engl "
    "etc evtl fa feb fr frl geb gegr gest ggf hl hr hrn hrsg ing inkl insb jh jr kap lfd lt min "
    "mind mio mr mrd mrs nov nr okt prof resp sept sog st std str tel tsd urspr usf usw vgl vs wg "
    "zzgl zzt".split()
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space after it; joined, they are the text.

    A sentence ends at a line break, and at ``.``, ``!``, ``?`` or ``…`` before white space, unless
    the point belongs to an abbreviation, an initial or a short number (an ordinal: 3. Mai), or a
    quotation or a pause goes on in lower case: "Komm!" sagte er.
    """
    sentences, start = [], 0
    for found in _MAYBE_END.finditer(text):
        before = text[max(start, found.start() - _LONGEST_WORD) : found.start()]
        after = text[found.end() : found.end() + 1]
        if (before.strip() or found[1]) and _is_end(found, before, after):
            sentences.append(text[start : found.end()])
            start = found.end()
    return [*sentences, text[start:]] if text[start:] else sentences


def _is_end(found: re.Match[str], before: str, after: str) -> bool:
    marks, closing = found[1], found[2]
    if not after or re.search(r"[\n\r]", found[0]):
        return True
    if closing or "…" in marks or ".." in marks:
        return not after.islower()
    if marks != ".":
        return True
    word = _LAST_WORD.search(before)
    return not word or not (_NO_END.fullmatch(word[0]) or word[0].lower() in _ABBREVIATIONS)
