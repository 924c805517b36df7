"""Mutation testing of the exercises: does every small bug in a solution fail its check?

    python -m tools.mutation_testing                  # all lessons
    python -m tools.mutation_testing 06 --survivors

Needs `pip install cosmic-ray`, whose operators make the mutants: another operator, another number,
a comparison turned round, a condition negated, a loop that never runs. A mutant that survives is
either equivalent to the solution or a gap in the probes: a person has to look at it. A mutant is
"misnamed" if the check reports a misconception that it no longer reports with another seed.
"""

import argparse
import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tqdm import tqdm

from course_lib.checks import load_item
from course_lib.checks.diagnose import diagnose
from course_lib.checks.table import TOPICS
from tools.build_exercises import SOLUTIONS, item_of, role_of
from tools.misconception_matrix import line_of
from tools.notebook_normal_form import read

OTHER_SEED = 99


@dataclass(frozen=True)
class Mutant:
    """A solution with one small bug."""

    item_id: str
    before: str  # the cells above, which it may use
    code: str
    name: str  # what the check cell calls the answer
    line: int  # the first line that changed

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
        found = diagnose(item, space[self.name], line_of(item))
        if found.status == "passed":
            return "survived"
        if found.misconception is None:
            return "failed"
        again = diagnose(item, space[self.name], line_of(item), seed=OTHER_SEED)
        return "failed" if again.misconception is found.misconception else "misnamed"


def mutations(code: str) -> Iterator[str]:
    """Every version of the code with one operator of cosmic-ray applied once."""
    try:
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.operators.provider import OperatorProvider
    except ImportError as error:
        raise SystemExit(
            f"mutation testing needs cosmic-ray, found none ({error}): "
            "python -m pip install cosmic-ray"
        ) from error

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


def main(arguments: list[str] | None = None) -> int:
    """Try all mutants and count."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation_testing", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("lessons", nargs="*", help='such as "06"; default: all')
    parser.add_argument("--survivors", action="store_true", help="show those that pass")
    options = parser.parse_args(arguments)
    total = {"failed": 0, "survived": 0, "misnamed": 0}
    for lesson in options.lessons or TOPICS:
        count = dict.fromkeys(total, 0)
        for mutant in tqdm(list(mutants_of(lesson)), desc=lesson, leave=False):
            verdict = mutant.verdict()
            count[verdict] += 1
            if verdict == "misnamed" or (verdict == "survived" and options.survivors):
                shown = mutant.code.splitlines()[mutant.line - 1].strip() if mutant.line else ""
                tqdm.write(f"{verdict}: {mutant.item_id}: {shown}")
        total = {key: total[key] + count[key] for key in total}
        print(lesson, count, flush=True)
    print("all", total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
