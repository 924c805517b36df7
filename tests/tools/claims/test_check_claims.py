from pathlib import Path

import pytest

from tests.tools.notebooks.sample_notebooks import code, notebook
from tools import evidence
from tools.claims import check_claims
from tools.claims.check_claims import (
    Claim,
    Outcome,
    claims,
    digest,
    lesson_path,
    section,
    with_questions,
)
from tools.evidence import claims_lines
from tools.notebooks.notebook_normal_form import read, to_bytes

WARM = Claim(
    lesson="07",
    cell="train",
    says="Warm-up helps.",
    values="{'with': ends[0], 'without': ends[1]}",
    unit="loss",
    holds="max(values['with']) < min(values['without'])",
    seeds={"range(3)": "range(3, 6)"},
)
TRAIN = "ends = [[seed + late for seed in range(3)] for late in (0, 5)]"


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: f"{claim.lesson}-{claim.cell}")
def test_a_listed_claim_fits_its_lesson(claim: Claim) -> None:
    """Its cell and its seeds are there, and its expressions are Python."""
    lesson = read(lesson_path(claim.lesson))
    with_questions(lesson, [claim], other_seeds=True)
    compile(lesson.cells[-1].source, claim.says, "exec")


def test_every_claim_has_been_measured_as_it_is_listed_and_holds() -> None:
    lines = claims_lines()
    listed = {claim.lesson for claim in claims()}
    stale = [n for n in sorted(listed) if n not in lines or lines[n].made_from != digest(n)]
    if stale:
        pytest.fail(
            f"docs/evidence.md is stale for the claims of lesson {', '.join(stale)}: "
            f"run python -m tools.claims.check_claims {' '.join(stale)}",
            pytrace=False,
        )
    assert set(lines) == listed
    assert all(line.hold == line.claims for line in lines.values())
    assert all(line.hold_then == line.with_other_seeds for line in lines.values())
    assert sum(line.claims for line in lines.values()) == len(claims())


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lesson of two cells, in place of lesson 07, and a page beside it."""
    path = tmp_path / "07_lesson.ipynb"
    later = code("later", "raise SystemExit('no claim needs this cell')")
    path.write_bytes(to_bytes(notebook(code("train", TRAIN), later)))
    monkeypatch.setattr(check_claims, "lesson_path", lambda number: path)
    monkeypatch.setattr(check_claims, "claims", lambda: [WARM])
    monkeypatch.setattr(check_claims, "FULL", tmp_path / "evidence")
    monkeypatch.setattr(evidence, "PAGE", tmp_path / "evidence.md")
    evidence.PAGE.write_text(
        "| lesson | claims | hold | with other seeds | hold then | made from |\n"
    )
    return path


@pytest.mark.slow
def test_a_claim_is_measured_with_both_seeds_and_written_down(lesson: Path) -> None:
    assert check_claims.main([]) == 0
    page = (check_claims.FULL / "other_seeds.md").read_text("utf-8")
    assert page.startswith(check_claims.TOP)
    assert "the lesson's seeds: holds · other seeds: holds." in page
    assert "| with | 1 (0 to 2) | 4 (3 to 5) |" in page
    assert "| without | 6 (5 to 7) | 9 (8 to 10) |" in page
    assert f"| 07 | 1 | 1 | 1 | 1 | {digest('07')} |" in evidence.PAGE.read_text("utf-8")


@pytest.mark.slow
def test_a_claim_that_only_the_lessons_seeds_show_fails(
    lesson: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lucky = code("train", TRAIN.replace("5)", "5 if range(3)[0] == 0 else 1)"))
    lesson.write_bytes(to_bytes(notebook(lucky)))
    assert check_claims.main(["07"]) == 1
    printed = capsys.readouterr().out
    assert "the lesson's seeds: holds · other seeds: does not hold." in printed
    assert "1 claims measured 2 times, 1 times not holding" in printed
    assert "| 07 | 1 | 1 | 1 | 0 | " in evidence.PAGE.read_text("utf-8")
    assert not check_claims.FULL.exists()


@pytest.mark.slow
def test_a_lesson_that_cannot_be_measured_says_why(
    lesson: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lesson.write_bytes(to_bytes(notebook(code("train", "begins = range(3)"))))
    assert check_claims.main(["07"]) == 1
    assert "NameError: name 'ends' is not defined" in capsys.readouterr().out


def test_old_entries_are_named() -> None:
    with pytest.raises(ValueError, match="lesson 07 has no cell 'train': Warm-up helps"):
        with_questions(notebook(code("loop", TRAIN)), [WARM], other_seeds=False)
    with pytest.raises(ValueError, match=r"no cell has the seeds 'range\(3\)'"):
        with_questions(notebook(code("train", "ends = 1")), [WARM], other_seeds=True)


def test_an_unknown_lesson_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check_claims.main(["99"])
    assert "no claims are listed for 99" in capsys.readouterr().err


def test_stored_models_have_no_other_seeds() -> None:
    text = section(WARM, Outcome({"with": [1.0], "without": [2.5]}, holds=True), None)
    assert "the lesson's seeds: holds (the models are stored" in text
    assert "| with | 1 |" in text
