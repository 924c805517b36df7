"""Do the lessons' general claims hold with other seeds? Run each and see: ``make facts``.

    python -m tools.claims.check_claims          # all lessons, and write evidence/other_seeds.md
    python -m tools.claims.check_claims 07 11    # these lessons only

Both store in docs/evidence.md how many claims hold.

A claim of `facts.toml` names the cell that measures it and an inequality. Every lesson with claims
runs twice, as it is stored and with its seeds replaced; the inequality has to hold both times.
"""

import argparse
import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import astuple, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from tqdm import tqdm

from tools import ROOT
from tools.claims.prose_numbers import FACTS
from tools.evidence import FULL, ClaimsLine, write_claims
from tools.notebooks.build_notebooks import CELL_SECONDS, kernel_environment
from tools.notebooks.notebook_normal_form import read

NAME = "other_seeds.md"
TOP = """# What holds with other seeds

Written by `make facts` (`python -m tools.claims.check_claims`). What a lesson states in general
about training, attention heads or search is measured twice here: with the seeds of the lesson, and
with others. Numbers are the mean over the seeds, and the range.
"""
ASK = "print(__import__('json').dumps((lambda values: [values, bool({holds})])({values})))"


@dataclass(frozen=True)
class Claim:
    """A general statement of a lesson, and what shows it.

    Attributes:
        lesson: its number.
        cell: the id of the cell that measures it.
        says: the claim in a sentence.
        values: an expression over the lesson's names, a dict of name to one number per seed.
        unit: what the numbers are.
        holds: the claim as an expression over `values` and the lesson's names.
        seeds: text in the lesson's code to its replacement, which gives other seeds; empty where
            the numbers come from stored models.
    """

    lesson: str
    cell: str
    says: str
    values: str
    unit: str
    holds: str
    seeds: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Outcome:
    """What a run gave for a claim; `problem` says why there are no numbers."""

    values: dict[str, list[float]] = field(default_factory=dict)
    holds: bool = False
    problem: str = ""


Measured = tuple[Outcome, Outcome | None]  # with the lesson's seeds; with others, if there are any


def claims() -> list[Claim]:
    """The general claims of facts.toml."""
    return [Claim(**entry) for entry in tomllib.loads(FACTS.read_text("utf-8")).get("claim", [])]


def lesson_path(lesson: str) -> Path:
    """The notebook with that number."""
    (path,) = (ROOT / "notebooks").glob(f"{lesson}_*.ipynb")
    return path


def with_questions(notebook: NotebookNode, asked: list[Claim], *, other_seeds: bool) -> None:
    """Put a cell behind each cell that measures a claim, and cut off what no claim needs.

    Raises:
        ValueError: a claim's cell, or a text that its seeds replace, is not in the lesson.
    """
    ids = [cell.id for cell in notebook.cells]
    for claim in asked:
        if claim.cell not in ids:
            raise ValueError(f"lesson {claim.lesson} has no cell {claim.cell!r}: {claim.says}")
    if other_seeds:
        replace_seeds(notebook, {old: new for claim in asked for old, new in claim.seeds.items()})
    last = max(ids.index(claim.cell) for claim in asked)
    cells = []
    for cell in notebook.cells[: last + 1]:
        cells.append(cell)
        for number, claim in enumerate(asked):
            if claim.cell == cell.id:
                question = ASK.format(values=claim.values, holds=claim.holds)
                cells.append(new_code_cell(question, id=f"claim-{number}"))
    notebook.cells = cells


def replace_seeds(notebook: NotebookNode, replacements: dict[str, str]) -> None:
    """Replace text in all code cells.

    Raises:
        ValueError: no cell has one of the texts.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for old, new in replacements.items():
        having = [cell for cell in code if old in cell.source]
        if not having:
            raise ValueError(f"no cell has the seeds {old!r}; is the entry in facts.toml old?")
        for cell in having:
            cell.source = cell.source.replace(old, new)


def measured(asked: list[Claim], other_seeds: bool) -> list[Outcome]:
    """Run the lesson of these claims and evaluate them, one outcome for each.

    A cell that fails does not stop the run: the lesson's proofs quote numbers of its own seeds.
    """
    path = lesson_path(asked[0].lesson)
    notebook = read(path)
    with_questions(notebook, asked, other_seeds=other_seeds)
    with TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            allow_errors=True,
            resources={"metadata": {"path": folder}},
        )
        # Several lessons run at the same time, so each takes one processor.
        client.execute(env=kernel_environment() | {"OMP_NUM_THREADS": "1"})
    answers = {cell.id: cell for cell in notebook.cells if cell.id.startswith("claim-")}
    return [outcome(answers[f"claim-{number}"]) for number in range(len(asked))]


def all_measured(listed: list[Claim], jobs: int) -> Iterator[tuple[Claim, Outcome, Outcome | None]]:
    """Each claim with its lesson's seeds, and with others where there are others."""
    lessons = [
        [claim for claim in listed if claim.lesson == lesson]
        for lesson in dict.fromkeys(claim.lesson for claim in listed)
    ]
    again = [[claim for claim in asked if claim.seeds] for asked in lessons]
    runs = [(asked, False) for asked in lessons] + [(asked, True) for asked in again if asked]
    found: dict[tuple[Claim, bool], Outcome] = {}
    with (
        ThreadPoolExecutor(jobs) as pool,
        tqdm(total=len(runs), desc="running lessons", unit="run") as bar,
    ):
        waiting = {pool.submit(measured, asked, other): (asked, other) for asked, other in runs}
        for future in as_completed(waiting):
            asked, other = waiting[future]
            found |= {(c, other): o for c, o in zip(asked, future.result(), strict=True)}
            bar.update()
    for claim in listed:
        yield claim, found[claim, False], found.get((claim, True))


def outcome(answer: NotebookNode) -> Outcome:
    """What the cell behind a claim's cell printed."""
    for output in answer.outputs:
        if output.output_type == "error":
            return Outcome(problem=f"{output.ename}: {output.evalue}")
    printed = "".join(o.text for o in answer.outputs if o.output_type == "stream")
    values, holds = json.loads(printed)
    return Outcome(values, holds)


def numbers_in_words(numbers: list[float]) -> str:
    """The mean and the range: `1.23 (1.20 to 1.27)`."""
    mean = sum(numbers) / len(numbers)
    span = "" if len(numbers) == 1 else f" ({min(numbers):.3g} to {max(numbers):.3g})"
    return f"{mean:.3g}{span}"


def section(claim: Claim, own: Outcome, other: Outcome | None) -> str:
    """One claim of the page."""
    lesson = lesson_path(claim.lesson)
    outcomes = {"the lesson's seeds": own}
    if other is not None:
        outcomes["other seeds"] = other
    verdict = " · ".join(
        f"{name}: {'holds' if each.holds else each.problem or 'does not hold'}"
        for name, each in outcomes.items()
    )
    if other is None:
        verdict += " (the models are stored, so there are no other seeds)"
    lines = [
        f"**{claim.says}** ([lesson {claim.lesson}](../notebooks/{lesson.name}), "
        f"cell `{claim.cell}`)",
        "",
        f"{verdict}.",
        "",
        f"| {claim.unit} | " + " | ".join(outcomes) + " |",
        "| --- |" + " ---: |" * len(outcomes),
    ]
    for name in own.values:
        cells = (
            numbers_in_words(each.values.get(name) or [float("nan")]) for each in outcomes.values()
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measure the claims of the lessons that are named, or of all; 1 if one does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.claims.check_claims", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    listed = claims()
    numbers = sorted({claim.lesson for claim in listed})
    parser.add_argument("lessons", nargs="*", metavar="NN", help=f"of {', '.join(numbers)}")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="lessons at a time"
    )
    options = parser.parse_args(arguments)
    chosen = options.lessons
    if unknown := sorted(set(chosen) - set(numbers)):
        parser.error(f"no claims are listed for {', '.join(unknown)}; there are {numbers}")
    sections = []
    found: dict[str, list[Measured]] = {}
    asked = [claim for claim in listed if not chosen or claim.lesson in chosen]
    for claim, own, other in all_measured(asked, options.jobs):
        found.setdefault(claim.lesson, []).append((own, other))
        sections.append(section(claim, own, other))
        print(f"\n{sections[-1]}\n")
    write_claims(line_of(lesson, each) for lesson, each in found.items())
    if not chosen:
        FULL.mkdir(exist_ok=True)
        (FULL / NAME).write_text("\n\n".join((TOP.strip(), *sections)) + "\n", "utf-8")
    outcomes = [outcome for each in found.values() for pair in each for outcome in pair if outcome]
    failed = sum(not outcome.holds for outcome in outcomes)
    print(f"{len(sections)} claims measured {len(outcomes)} times, {failed} times not holding")
    return int(failed > 0)


def line_of(lesson: str, measured: list[Measured]) -> ClaimsLine:
    """A lesson's line of docs/evidence.md."""
    again = [other for _, other in measured if other is not None]
    return ClaimsLine(
        lesson=lesson,
        claims=len(measured),
        hold=sum(own.holds for own, _ in measured),
        with_other_seeds=len(again),
        hold_then=sum(other.holds for other in again),
        made_from=digest(lesson),
    )


def digest(lesson: str) -> str:
    """The claims of a lesson, in ten characters."""
    asked = [astuple(claim) for claim in claims() if claim.lesson == lesson]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:10]


if __name__ == "__main__":
    sys.exit(main())
