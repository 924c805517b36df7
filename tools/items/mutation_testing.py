"""Mutation testing of the exercises: does every small bug in a solution fail its check?

    python -m tools.items.mutation_testing                 # all items, about five minutes
    python -m tools.items.mutation_testing 06.causal_mask  # only this one; or 06, a whole lesson
    python -m tools.items.mutation_testing --stale         # those that have changed since

The counts go into docs/evidence.md. A run of all items writes those that did not fail into
evidence/mutation_testing.md.

The operators of cosmic-ray make the mutants: another operator, another number, a comparison turned
round, a condition negated, a loop that never runs. A mutant that survives is either equivalent to
the solution or a gap in the probes: a person has to look at it. A mutant is "misnamed" if the check
reports a misconception that it no longer reports with another seed.
"""

import argparse
import ast
import hashlib
import linecache
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tqdm import tqdm

from course_lib.checks import load_item
from course_lib.checks.diagnosis import dependence, naming, repetition, several
from course_lib.checks.diagnosis.diagnose import diagnose
from course_lib.checks.table import TOPICS
from tools import ROOT
from tools.evidence import FULL, ItemLine, item_lines, write_items
from tools.items.misconception_matrix import item_ids, line_of
from tools.notebooks.build_exercises import SOLUTIONS, item_of, role_of
from tools.notebooks.notebook_normal_form import read

OTHER_SEED = 99
VERDICTS = ("failed", "survived", "misnamed")
PACKAGE = "course_lib.checks.items"
NAME = "mutation_testing.md"
INTRODUCTION = """# Mutants that a check did not notice

Written by `python -m tools.items.mutation_testing`. Each line is the changed line of a solution.
A mutant that survives does the same as the solution, or the tests have a gap: a person has to look
at it. `docs/evidence.md` has the counts.

"""


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
        if found.misconception is None or (found.first_step and not found.first_step.of):
            return "failed"  # "what it may be" is no name
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


def answers_of(lesson: str) -> Iterator[tuple[str, str, str, str]]:
    """The answers of a lesson's solution: item, the code above it, its own, and what it is called.

    The code above leaves out the set-up cell and the cells with checks.
    """
    (path,) = SOLUTIONS.glob(f"{lesson}_*/*.ipynb")
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    before = ""
    for cell, following in zip(cells, [*cells[1:], None], strict=True):
        if role_of(cell) == "answer" and following is not None:
            item_id = item_of(cell)
            assert item_id is not None
            yield item_id, before, cell.source, following.source.split(",")[1].strip(" )\n")
        if role_of(cell) != "check" and cell.id != "set-up":
            before += cell.source + "\n\n"


def mutants_of(item_id: str) -> Iterator[Mutant]:
    """All mutants of an item's solution."""
    for answered, before, answer, name in answers_of(item_id[:2]):
        for code in mutations(answer) if answered == item_id else ():
            pairs = zip(answer.splitlines(), code.splitlines(), strict=False)
            changed = next((i for i, (a, b) in enumerate(pairs, 1) if a != b), 0)
            if "wrong_line" not in code.splitlines()[max(0, changed - 5)]:
                yield Mutant(item_id, before, code, name, changed)


def digest(item_id: str) -> str:
    """What an item's mutants and its check are made from, in ten characters: all but the imports.

    That is its module, what this imports from its neighbours, and its answer in the solution; not
    the answers above it, since it uses them as any other right ones.
    """
    lesson, name = item_id.split(".")
    texts = [answer for item, _, answer, _ in answers_of(lesson) if item == item_id]
    modules = [f"{PACKAGE}.{TOPICS[lesson]}.{name}"]
    for module in modules:  # grows while it is read
        text = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text("utf-8")
        code, imported = without_imports(text)
        texts.append(code)
        modules += [each for each in imported if each not in modules]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:10]


def without_imports(text: str) -> tuple[str, list[str]]:
    """A module's lines without its imports, and the modules of items that it imports."""
    lines, imported = text.splitlines(), []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
                inside = [f"{node.module}.{alias.name}" for alias in node.names]
                imported += [each for each in (node.module or "", *inside) if is_module(each)]
    return "\n".join(filter(None, lines)), imported


def is_module(name: str) -> bool:
    """Whether a file of this project has that name."""
    return ROOT.joinpath(*name.split(".")).with_suffix(".py").is_file()


def tried(item_id: str) -> tuple[ItemLine, list[str]]:
    """The item's line of evidence, and a line for each mutant that is misnamed or survives."""
    counts: Counter[str] = Counter()
    lines = []
    # Where nobody watches, in a log or a test, a bar would be a page of noise.
    for mutant in tqdm(list(mutants_of(item_id)), desc=item_id, leave=False, disable=None):
        verdict = mutant.verdict()
        counts[verdict] += 1
        if verdict != "failed":
            lines.append(f"- {mutant.item_id} {verdict}: `{mutant.changed_line}`")
    item = load_item(item_id)
    line = ItemLine(
        item=item_id,
        tests=len(item.probes),
        misconceptions=len(item.misconceptions),
        mutants=counts.total(),
        **{verdict: counts[verdict] for verdict in VERDICTS},
        made_from=digest(item_id),
    )
    return line, lines


def stale() -> list[str]:
    """The items that have changed since docs/evidence.md was written."""
    made_from = {item: line.made_from for item, line in item_lines().items()}
    return [item for item in item_ids() if made_from.get(item) != digest(item)]


def main(arguments: list[str] | None = None) -> int:
    """Try all mutants and count; 1 if one is misnamed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.items.mutation_testing", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("items", nargs="*", help='such as "06.causal_mask" or "06"; default: all')
    parser.add_argument("--stale", action="store_true", help="only items that have changed")
    options = parser.parse_args(arguments)
    chosen = chosen_items(options.items, parser)
    everything = chosen == item_ids() and not options.stale
    if options.stale:
        chosen = [item for item in stale() if item in chosen]
    # The result must not depend on how fast this machine is.
    naming.PAIR_SECONDS, several.SEVERAL_SECONDS = 60.0, 5.0
    dependence.SECONDS = repetition.SECONDS = several.FOR_SINGLES = 30.0
    misnamed, listed = 0, []
    for item_id in chosen:
        line, lines = tried(item_id)
        write_items([line])
        misnamed += line.misnamed
        listed += sorted(lines)
        print(summary(line), *sorted(lines), sep="\n", flush=True)
    if everything:
        FULL.mkdir(exist_ok=True)
        (FULL / NAME).write_text(INTRODUCTION + "\n".join(listed) + "\n", "utf-8")
    return 1 if misnamed else 0


def chosen_items(words: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """The items that are named, by their own ids or by their lessons'; all if none is."""
    known = item_ids()
    for word in words:
        if word not in (*known, *TOPICS):
            parser.error(f"expected a lesson or an item, such as 06 or {known[0]}, got {word!r}")
    return [item for item in known if not words or item in words or item[:2] in words]


def summary(line: ItemLine) -> str:
    """The counts of an item in a sentence."""
    counts = ", ".join(f"{getattr(line, verdict)} {verdict}" for verdict in VERDICTS)
    return f"{line.item}: {line.mutants} mutants, {counts}"


if __name__ == "__main__":
    sys.exit(main())
