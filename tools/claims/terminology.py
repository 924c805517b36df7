"""Find words of our own where the field has a standard term.

    python -m tools.claims.terminology                     # the whole tree
    python -m tools.claims.terminology course_lib/viz      # only below these paths

Not a spell checker: it knows the list in ``terminology.toml`` and nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

from tools import ROOT

LIST = Path(__file__).with_suffix(".toml")
KINDS = (".py", ".md", ".js", ".mjs", ".css", ".html", ".toml", ".yml", "Makefile")
# The lessons and exercises are edited as a whole, by hand; this list covers all other files but
# itself and its tests.
SKIPPED = (
    *("notebooks/", "exercises/", "solutions/", "constraints.txt"),
    *("tools/claims/terminology.", "tests/tools/claims/test_terminology.py"),
)


@dataclass(frozen=True)
class Term:
    """An entry of the list.

    Attributes:
        avoid: a regular expression for the words of our own.
        use: the standard term.
        only: patterns of the paths to which the entry is limited.
        except_in: patterns of the paths that need the word: the glossary, for one.
        allow: regular expressions for phrases in which the word means something else.
    """

    avoid: str
    use: str
    only: Sequence[str] = ("*",)
    except_in: Sequence[str] = ()
    allow: Sequence[str] = ()

    @cached_property
    def avoided(self) -> re.Pattern[str]:
        """The words as whole words."""
        return whole_words([self])

    @cached_property
    def allowed(self) -> re.Pattern[str]:
        """The phrases that are no hits."""
        return re.compile("|".join(f"(?:{phrase})" for phrase in self.allow) or r"(?!)")

    def concerns(self, path: str) -> bool:
        """Whether the entry applies to this file."""
        excepted = any(fnmatch(path, pattern) for pattern in self.except_in)
        return not excepted and any(fnmatch(path, pattern) for pattern in self.only)


@dataclass(frozen=True)
class Hit:
    """A word of our own: where it is, and what to write instead."""

    path: str
    line: int
    word: str
    text: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r} -> {self.use}\n    {self.text.strip()}"


def whole_words(terms: Sequence[Term]) -> re.Pattern[str]:
    """Any word to avoid; an underscore ends a word, so that ``a_b`` is two."""
    avoided = "|".join(f"(?:{term.avoid})" for term in terms)
    return re.compile(rf"(?<![A-Za-z0-9])_?(?:{avoided})(?![A-Za-z0-9])")


def load_terms(path: Path = LIST) -> list[Term]:
    """The entries of the list."""
    return [Term(**entry) for entry in tomllib.loads(path.read_text("utf-8"))["term"]]


def files(root: Path = ROOT) -> list[str]:
    """The text files that git knows, or would add, as paths from the repository's root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return sorted(
        p
        for p in set(listed)
        if p.endswith(KINDS) and not p.startswith(SKIPPED) and (root / p).is_file()
    )


def hits_in(path: str, text: str, terms: Sequence[Term]) -> Iterator[Hit]:
    """The words of our own in the text of one file."""
    any_avoided = whole_words(terms)
    if not any_avoided.search(text):  # as in most files
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if any_avoided.search(line):
            for term in (term for term in terms if term.concerns(path)):
                for found in term.avoided.finditer(term.allowed.sub("", line)):
                    yield Hit(path, number, found[0], line, term.use)


def all_hits(paths: Sequence[str], root: Path = ROOT) -> list[Hit]:
    """The words of our own in these files."""
    terms = load_terms()
    return [hit for path in paths for hit in hits_in(path, (root / path).read_text("utf-8"), terms)]


def main(arguments: Sequence[str]) -> int:
    """List the hits below the given paths, or everywhere; 1 if there are any."""
    chosen = [p for p in files() if not arguments or p.startswith(tuple(arguments))]
    hits = all_hits(chosen)
    for hit in hits:
        print(hit)
    print(f"{len(hits)} hits in {len(chosen)} files")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
