"""French and English questions from giga-fren, as selected by fast.ai's NLP course (2019)."""

from __future__ import annotations

import csv
import io
import re
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from course_lib.atomic import replace_atomically
from course_lib.data.corpus import Corpus, text_corpus
from course_lib.data.download import RemoteFile, cache_folder, download
from course_lib.data.file_corpus import first_of
from course_lib.data.pairs import TextPair
from course_lib.errors import CourseError

ARCHIVE, TABLE = "giga-fren.tgz", "questions_easy.csv"
# Size and start are those that the library fastai checks; nobody has published a checksum.
REMOTE = RemoteFile(
    (f"https://s3.amazonaws.com/fast-ai-nlp/{ARCHIVE}",),
    size=2_598_183_296,
    md5_of_start="69573f58e2c850b90f2f954077041d8c",
)
SIDES = "giga-fren.release2.fixed"  # .en and .fr: 22.5 million lines (Callison-Burch 2009)
# The part of a line that is kept, if it begins with a question: in English with What, Who, Why …
QUESTIONS = {"en": re.compile(r"Wh[^?.!]+\?"), "fr": re.compile(r"[^?.!]+\?")}
MAX_WORDS = 30  # longer questions are left out of training, as in that course
HELD_OUT = 20  # one pair in 20 is for validation, another for the test


def questions_corpus() -> Corpus:
    """The questions, French to English: about 52,000 pairs.

    They are read from ``questions_easy.csv`` in ``cache_folder()/giga-fren``, which has the columns
    ``fr`` and ``en``, as in that course. If it is missing, it is made from ``giga-fren.tgz`` in the
    same folder; if that is missing too, the archive is downloaded (2.4 GB).

    Raises:
        CourseError: a file is damaged, or neither is in the cache and the archive cannot be
            downloaded.
    """
    table = cache_folder() / "giga-fren" / TABLE
    if not table.exists():
        _write_table(table, _questions(download(REMOTE, table.with_name(ARCHIVE))))
    pairs = _read_table(table)
    splits = {
        "train": [pair for i, pair in enumerate(pairs) if i % HELD_OUT > 1],
        "valid": pairs[::HELD_OUT],
        "test": pairs[1::HELD_OUT],
    }
    return text_corpus(
        "questions_fr_en",
        ("fr", "en"),
        splits={name: first_of(some) for name, some in splits.items()},
        max_words=MAX_WORDS,
    )


def _questions(archive: Path) -> list[TextPair]:
    """From each pair of lines that begin with a question on both sides, the two questions.

    The archive is read without unpacking it, which would take 6 GB.
    """
    found: dict[str, dict[int, str]] = {}
    lines: dict[str, int] = {}
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                stem, _, side = PurePosixPath(member.name).name.rpartition(".")
                file = tar.extractfile(member) if stem == SIDES and side in QUESTIONS else None
                if file is None:
                    continue
                found[side], lines[side] = {}, 0
                for line in io.TextIOWrapper(file, encoding="utf-8", newline="\n"):
                    if question := QUESTIONS[side].match(line):
                        found[side][lines[side]] = question.group()
                    lines[side] += 1
    except (tarfile.TarError, EOFError, zlib.error, OSError, UnicodeDecodeError) as error:
        raise CourseError(
            f"expected the archive of {REMOTE.addresses[0]} at {archive}, got something else or "
            f"only a part of it ({error}): delete it and download it again"
        ) from None
    if set(lines) != set(QUESTIONS) or lines["en"] != lines["fr"]:
        got = " and ".join(f"{n:,} lines of {SIDES}.{side}" for side, n in lines.items())
        raise CourseError(
            f"expected as many lines of {SIDES}.en as of {SIDES}.fr in {archive}, got "
            f"{got or 'neither'}: is it another archive?"
        )
    both = sorted(found["en"].keys() & found["fr"].keys())
    return [TextPair(found["fr"][i], found["en"][i]) for i in both]


def _write_table(table: Path, pairs: Sequence[TextPair]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("fr", "en"), *pairs])
    # A csv writer ends its lines itself.
    replace_atomically(
        table, lambda draft: draft.write_text(text.getvalue(), encoding="utf-8", newline="")
    )


def _read_table(table: Path) -> list[TextPair]:
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or []
            if not {"fr", "en"} <= set(columns):
                got = ", ".join(columns) or "an empty file"
                raise CourseError(f"expected the columns fr and en in {table}, got {got}")
            return [TextPair(row["fr"] or "", row["en"] or "") for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CourseError(
            f"expected a UTF-8 table with the columns fr and en at {table}, which cannot be read "
            f"({error}): delete it, and it will be made again from {ARCHIVE}"
        ) from None
