"""Mutation testing of the exercises: does every small bug in a solution fail its check?

    python -m tools.items.mutation_testing          # all lessons, into docs/mutation_testing.md
    python -m tools.items.mutation_testing 06       # only this one
    python -m tools.items.mutation_testing --check  # runs nothing: is the page up to date?

The operators of cosmic-ray make the mutants: another operator, another number, a comparison turned
round, a condition negated, a loop that never runs. A mutant that survives is either equivalent to
the solution or a gap in the probes: a person has to look at it. A mutant is "misnamed" if the check
reports a misconception that it no longer reports with another seed.
"""

import argparse
import hashlib
import linecache
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from course_lib.checks import load_item
from course_lib.checks.diagnosis import naming
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.table import TOPICS
from tools.items.misconception_matrix import line_of
from tools.notebooks.build_exercises import SOLUTIONS, item_of, role_of
from tools.notebooks.notebook_normal_form import read

OTHER_SEED = 99
VERDICTS = ("failed", "survived", "misnamed")
ROOT = Path(__file__).parents[2]
ITEMS = ROOT / "course_lib" / "checks" / "items"
PAGE = ROOT / "docs" / "mutation_testing.md"
INTRODUCTION = """# Small bugs that a check must notice

Each solution is changed in one small way (another operator, another number, a comparison turned
round, a condition negated, a loop that never runs), and the check of its item is run on the result.
A mutant *fails* if the check notices it, and *survives* if it passes: then it does the same as the
solution, or the probes have a gap. It is *misnamed* if the check names a misconception that it no
longer names for other random inputs. Written by `python -m tools.items.mutation_testing`.

| lesson | mutants | failed | survived | misnamed | made from |
|:--|--:|--:|--:|--:|:--|
"""
LISTED = "## Those that did not fail\n\n"


@dataclass(frozen=True)
class Mutant:
    """A solution with one small bug."""

    item_id: str
    before: str  # the cells above, which it may use
    code: str
    name: str  # what the check cell calls the answer
    line: int  # the first line that changed

    @property
    def changed_line(self) -> str:
        """The line that differs from the solution."""
        return self.code.splitlines()[self.line - 1].strip() if self.line else ""

    def verdict(self) -> str:
        """Whether it "survived", "failed" or was "misnamed"."""
        space: dict[str, object] = {}
        try:
            exec(self.before, space)
            file = f"<mutant of {self.item_id}>"
            linecache.cache[file] = (len(self.code), None, self.code.splitlines(True), file)
            exec(compile(self.code, file, "exec"), space)
        except Exception:
            return "failed"
        item = load_item(self.item_id)
        found = diagnose(item, space[self.name], line=line_of(item))
        if found.status == "passed":
            return "survived"
        if found.misconception is None:
            return "failed"
        again = diagnose(item, space[self.name], line=line_of(item), seed=OTHER_SEED)
        return "failed" if again.misconception is found.misconception else "misnamed"


def mutations(code: str) -> Iterator[str]:
    """Every version of the code with one operator of cosmic-ray applied once."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.operators.provider import OperatorProvider

    provider, seen = OperatorProvider(), {code}
    for name in provider:
        if name in ("VariableReplacer", "VariableInserter", "RemoveDecorator"):
            continue  # they are random, or have nothing to work on
        occurrence = 0
        while mutant := mutate_code(code, provider[name](), occurrence):
            occurrence += 1
            if mutant not in seen:
                seen.add(mutant)
                yield mutant


def mutants_of(lesson: str) -> Iterator[Mutant]:
    """All mutants of a lesson's solutions."""
    (path,) = SOLUTIONS.glob(f"{lesson}_*/*.ipynb")
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    before = ""
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if role_of(cell) == "answer" and following is not None:
            item_id = item_of(cell)
            assert item_id is not None
            answer_name = following.source.split(",")[1].strip(" )\n")
            for code in mutations(cell.source):
                pairs = zip(cell.source.splitlines(), code.splitlines(), strict=False)
                changed = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 0)
                if "wrong_line" not in code.splitlines()[max(0, changed - 5)]:
                    yield Mutant(item_id, before, code, answer_name, changed)
        if role_of(cell) != "check" and cell.id != "set-up":
            before += cell.source + "\n\n"


def digest(lesson: str) -> str:
    """What the mutants and their checks are made from, in ten characters: all but the imports."""
    (path,) = SOLUTIONS.glob(f"{lesson}_*/*.ipynb")
    answers = [cell.source for cell in read(path).cells if role_of(cell) == "answer"]
    files = sorted((ITEMS / TOPICS[lesson]).glob("*.py"))
    own = [file.read_text("utf-8") for file in files]
    shared = (
        file.read_text("utf-8")
        for file in sorted(ITEMS.glob("*.py"))
        if any(f"course_lib.checks.items.{file.stem} import" in source for source in own)
    )
    sources = [*answers, *own, *shared]
    lines = (line for source in sources for line in source.splitlines())
    kept = (line for line in lines if not line.startswith(("from ", "import ")))
    return hashlib.sha256("\n".join(kept).encode()).hexdigest()[:10]


def tried(lesson: str) -> tuple[Counter[str], list[str]]:
    """How many mutants have each verdict, and a line for each that is misnamed or survives."""
    counts: Counter[str] = Counter()
    lines = []
    for mutant in tqdm(list(mutants_of(lesson)), desc=lesson, leave=False):
        verdict = mutant.verdict()
        counts[verdict] += 1
        if verdict != "failed":
            lines.append(f"- {mutant.item_id} {verdict}: `{mutant.changed_line}`\n")
    return counts, lines


def row(lesson: str, counts: Counter[str], made_from: str) -> str:
    """A lesson's line of the table."""
    cells = [lesson, counts.total(), *(counts[verdict] for verdict in VERDICTS), made_from]
    return f"| {' | '.join(map(str, cells))} |"


def stored() -> tuple[dict[str, str], list[str]]:
    """The table's rows by lesson, and the lines below it, of the page as it is."""
    page = PAGE.read_text("utf-8") if PAGE.exists() else ""
    lines = page.splitlines(keepends=True)
    rows = {line[2:4]: line.rstrip() for line in lines if line[2:4] in TOPICS and line[0] == "|"}
    return rows, [line for line in lines if line.startswith("- ")]


def stale() -> list[str]:
    """The lessons whose solutions or items have changed since the page was written."""
    page = PAGE.read_text("utf-8")
    return [lesson for lesson in TOPICS if f"| {digest(lesson)} |" not in page]


def main(arguments: list[str] | None = None) -> int:
    """Try all mutants and count; 1 if one is misnamed, or the page is not up to date."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.mutation_testing", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("lessons", nargs="*", help='such as "06"; default: all')
    parser.add_argument("--check", action="store_true", help="run nothing, only compare")
    options = parser.parse_args(arguments)
    if options.check:
        if lessons := stale():
            print(f"{PAGE.name} is stale for {', '.join(lessons)}: run {parser.prog}")
        return 1 if lessons else 0
    naming.PAIR_SECONDS = 60.0  # the result must not depend on how fast this machine is
    rows, listed = stored()
    misnamed = 0
    for lesson in options.lessons or TOPICS:
        counts, lines = tried(lesson)
        misnamed += counts["misnamed"]
        rows[lesson] = row(lesson, counts, digest(lesson))
        listed = [line for line in listed if not line.startswith(f"- {lesson}.")] + lines
        print(rows[lesson], "".join(lines), sep="\n", flush=True)
    table = "\n".join(rows[lesson] for lesson in sorted(rows))
    PAGE.write_text(f"{INTRODUCTION}{table}\n\n{LISTED}{''.join(sorted(listed))}", "utf-8")
    return 1 if misnamed else 0


if __name__ == "__main__":
    sys.exit(main())
