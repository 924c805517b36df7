"""Find words of our own where the field has a standard term: ``python -m tools.terminology``.

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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".toml")
KINDS = (".py", ".md", ".js", ".mjs", ".css", ".html", ".toml", ".yml", "Makefile")
# The lessons and exercises are edited as a whole, by hand; this list speaks of all other files,
# but not of itself.
SKIPPED = ("notebooks/", "exercises/", "solutions/", "tools/terminology.", "constraints.txt")


@dataclass(frozen=True)
class Hit:
    """A word of our own: where it stands, and what to write instead."""

    path: str
    line: int
    word: str
    text: str
    use: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r} -> {self.use}\n    {self.text.strip()}"


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


def hits_in(path: str, text: str, terms: Sequence[dict[str, object]]) -> Iterator[Hit]:
    """The words of our own in the text of one file."""
    for term in terms:
        only, allow = term.get("only", ["*"]), term.get("allow", [])
        if not any(fnmatch(path, pattern) for pattern in only):  # type: ignore[attr-defined]
            continue
        pattern = re.compile(rf"(?<![A-Za-z0-9])_?(?:{term['avoid']})(?![A-Za-z0-9])")
        allowed = re.compile("|".join(f"(?:{a})" for a in allow) or r"(?!)")  # type: ignore[attr-defined]
        for number, line in enumerate(text.splitlines(), start=1):
            for found in pattern.finditer(allowed.sub("", line)):
                yield Hit(path, number, found[0], line, str(term["use"]))


def all_hits(paths: Sequence[str], root: Path = ROOT) -> list[Hit]:
    """The words of our own in these files."""
    terms = tomllib.loads(LIST.read_text("utf-8"))["term"]
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
