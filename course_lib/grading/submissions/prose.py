"""Words in a code cell: an answer that was typed where code is expected. It is read as text."""

from __future__ import annotations

import re

MOST_OF_A_CELL, _MOST_OF_A_LINE = 20_000, 500  # characters that are looked at
_FEWEST, _FEWEST_AMONG_CODE = 2, 8  # words, of a cell without and with lines of code
# A comment, or the start or end of a long string, with what it is assigned or passed to.
_AROUND = re.compile(
    r"^\s*(?:#+|(?:(?:\w+ *= *|print\()?[rf]?(?:\"\"\"|'''|[\"'])))|(?:\"\"\"|'''|[\"'])\)?\s*$"
)
# Of lines in which all space is single: two patterns side by side that both match a run of spaces
# take as many steps as there are ways to share it.
_CODE = re.compile(
    r"""(?:
        (?:import|def|class|return|raise|assert|del|global|nonlocal|async|await|lambda)\s+\S+\s*
            (?:$|[(:=,.\[]|as\b)
        | from\s+[\w.]+\s+import\b | assert\b.*(?:[=<>(,]|\bis\b|\bin\b)
        | (?:if|elif|for|while|with|except)\b.*:\s*(?:\#.*)?$
        | for\ [\w,\ ()]+\ in\ [^:]+:
        | (?:if|while|with)\b[^:]+:\s*(?:print|raise|return|pass|break|continue|[\w.\[\]]+\s*=)
        | (?:try|else|finally|except)\s*: | (?:pass|break|continue|return|\.\.\.)\s*$
        | [@%!?]
        | [\w.]+(?:\[[^\]]*\])?(?:\s*,\s*[\w.]+)*\s*+
            (?::\s*+[\w\[\], .|]++)?\s*+[-+*/%&|^@]{0,2}=(?!=)
        | [\w.]+(?:\[[^\]]*\])?\(.*[\])(,:]\s*(?:\#.*)?$
        | [\])}\s,]*$
    )""",
    re.VERBOSE,
)
_SENTENCE = re.compile(r"(?<![^\W\d_])[^\W\d_]{2,}+[,;:]? [^\W\d_]|[^\W\d_\x00-\x7f]{4,}")
_WORD = re.compile(r"[^\W\d_]+")


def words_in(source: str) -> tuple[str, bool]:
    """The words of a code cell, "" if these are too few for an answer; and whether there is code.

    A comment counts as words if it reads like a sentence, and as code if it was code once.
    """
    words, has_code = [], False
    for line in source[:MOST_OF_A_CELL].split("\n"):
        line = " ".join(line[:_MOST_OF_A_LINE].split())
        bare = _AROUND.sub("", line).strip()
        if _SENTENCE.search(bare) and not _CODE.match(bare):
            words.append(bare)
        elif bare and not line.startswith("#"):
            has_code = True
    text = "\n".join(words)
    fewest = _FEWEST_AMONG_CODE if has_code else _FEWEST
    count = len(_WORD.findall(text)) + len(re.findall(r"[^\x00-\u2fff]", text))
    return (text if count >= fewest else ""), has_code
