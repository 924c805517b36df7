"""Mutants are made of solutions and judged; cosmic-ray, which makes them, is replaced by a stub."""

import sys
from types import SimpleNamespace

import pytest

from course_lib.checks import load_item
from tools import ROOT, evidence
from tools.items import mutation_testing
from tools.items.mutation_testing import Mutant, digest, main, mutants_of, mutations

CAUSAL = "def causal_mask(size):\n    return torch.ones(1, 1, size, size).bool().{}\n"


def causal(answer):
    return Mutant("06.causal_mask", "import torch", CAUSAL.format(answer), "causal_mask", 2)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("tril(0)", "survived"), ("triu(1)", "failed"), ("flip(-1)", "failed"), ("tril(", "failed")],
)
def test_a_mutant_survives_only_if_it_passes_the_check(answer, verdict):
    assert causal(answer).verdict() == verdict


def test_a_mutant_is_misnamed_if_another_seed_gives_another_misconception(monkeypatch):
    original = mutation_testing.diagnose

    def fickle(item, subject, line, **seed):
        return SimpleNamespace(status="", misconception=None) if seed else original(item, subject)

    monkeypatch.setattr(mutation_testing, "diagnose", fickle)
    assert causal("triu()").verdict() == "misnamed"


def test_each_operator_is_applied_once_at_every_position(monkeypatch):
    def mutate_code(code, operator, occurrence):
        parts = code.split("1")
        if occurrence >= len(parts) - 1:
            return None
        return "1".join(parts[: occurrence + 1]) + operator + "1".join(parts[occurrence + 1 :])

    names = {"NumberReplacer": lambda: "2", "VariableReplacer": lambda: "x", "Same": lambda: "1"}
    stubs = {
        "cosmic_ray.mutating": SimpleNamespace(mutate_code=mutate_code),
        "cosmic_ray.operators.provider": SimpleNamespace(OperatorProvider=lambda: names),
    }
    for name, stub in stubs.items():
        monkeypatch.setitem(sys.modules, name, stub)
    assert list(mutations("f(1, 1)")) == ["f(2, 1)", "f(1, 2)"]


@pytest.fixture
def one_mutation(monkeypatch):
    def mutate(code):
        before, _, after = code.rpartition("return ")
        return [f"{before}return  {after}".replace(".tril", ".triu")]

    monkeypatch.setattr(mutation_testing, "mutations", mutate)


def test_a_mutant_is_made_of_its_item_s_answer_and_knows_the_cells_above(one_mutation):
    [decoder] = mutants_of("06.decoder_mask")
    assert decoder.item_id == "06.decoder_mask"
    assert decoder.name == "decoder_mask" and "def causal_mask" in decoder.before
    assert "check(" not in decoder.before and "set_up" not in decoder.before


def test_the_number_of_the_wrong_line_is_not_mutated(monkeypatch):
    monkeypatch.setattr(
        mutation_testing, "mutations", lambda code: [code.replace("return 5", "return 6")]
    )
    assert list(mutants_of("06.bug")) == []


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A page of evidence without any line, and a folder of its own for the full page."""
    monkeypatch.setattr(mutation_testing, "FULL", tmp_path / "evidence")
    monkeypatch.setattr(evidence, "PAGE", tmp_path / "evidence.md")
    names = "item | tests | misconceptions | mutants | failed | survived | misnamed | made from"
    evidence.PAGE.write_text(f"# Evidence\n\n| {names} |\n\nMore text.\n", "utf-8")
    return evidence.PAGE


def test_the_command_counts_verdicts_and_shows_survivors(one_mutation, page, capsys):
    assert main(["06"]) == 0
    printed = capsys.readouterr().out
    assert "06.causal_mask: 1 mutants, 1 failed, 0 survived, 0 misnamed" in printed
    assert "06.padding_mask: 1 mutants, 0 failed, 1 survived, 0 misnamed" in printed
    assert "- 06.padding_mask survived: `return  " in printed
    text = page.read_text("utf-8")
    assert f"| 06.causal_mask | 2 | 8 | 1 | 1 | 0 | 0 | {digest('06.causal_mask')} |" in text
    assert not mutation_testing.FULL.exists()  # it would lack the other lessons


def test_a_run_of_everything_lists_the_survivors_on_a_page(one_mutation, page, monkeypatch):
    monkeypatch.setattr(mutation_testing, "item_ids", lambda: ["06.padding_mask", "06.causal_mask"])
    assert main([]) == 0
    full = (mutation_testing.FULL / "mutation_testing.md").read_text("utf-8")
    assert "- 06.padding_mask survived: `return  " in full and "06.causal_mask" not in full


def test_an_item_is_stale_when_its_answer_or_its_module_changes(one_mutation, page, monkeypatch):
    monkeypatch.setattr(mutation_testing, "item_ids", lambda: ["06.padding_mask", "06.causal_mask"])
    assert mutation_testing.stale() == ["06.padding_mask", "06.causal_mask"]
    assert main(["--stale"]) == 0 and mutation_testing.stale() == []
    original = mutation_testing.answers_of
    edited = [(*each[:2], each[2].replace("tril", "triu"), each[3]) for each in original("06")]
    monkeypatch.setattr(mutation_testing, "answers_of", lambda lesson: edited)
    assert mutation_testing.stale() == ["06.causal_mask"]
    monkeypatch.setattr(mutation_testing, "answers_of", original)
    monkeypatch.setattr(mutation_testing, "without_imports", lambda text: (text + "#", []))
    assert mutation_testing.stale() == ["06.padding_mask", "06.causal_mask"]


def test_imports_do_not_count_but_what_an_item_imports_from_its_neighbours_does():
    outside = "from torch import (\n    Tensor,\n)\n"
    beside = "from course_lib.checks.items.masks import bug\n"
    code, imported = mutation_testing.without_imports(f"{outside}{beside}x = 1\n")
    assert (code, imported) == ("x = 1", ["course_lib.checks.items.masks.bug"])


def test_the_digest_of_an_item_covers_what_it_shares_with_others(monkeypatch):
    original, covered = mutation_testing.without_imports, []
    monkeypatch.setattr(
        mutation_testing, "without_imports", lambda text: covered.append(text) or original(text)
    )
    digest("10.masked_cross_entropy")
    items = ROOT / "course_lib" / "checks" / "items"
    shared = (items / "losses.py", items / "two_sentences" / "masked_cross_entropy.py")
    assert {path.read_text("utf-8") for path in shared} <= {*covered}
    assert len(covered) < len([*items.rglob("*.py")])


def test_a_name_that_is_no_item_and_no_lesson_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["06.nothing"])
    assert "expected a lesson or an item, such as 06 or 01." in capsys.readouterr().err


def test_the_stored_evidence_is_that_of_the_items_and_nothing_is_misnamed():
    if items := mutation_testing.stale():
        commands = [f"make item ITEM={item}" for item in items]
        pytest.fail(
            f"docs/evidence.md is stale, run {' and '.join(commands)} (or, for several items, "
            "python -m tools.items.mutation_testing --stale)",
            pytrace=False,
        )
    lines = evidence.item_lines()
    assert set(lines) == set(mutation_testing.item_ids())
    for line in lines.values():
        item = load_item(line.item)
        assert (line.tests, line.misconceptions) == (len(item.probes), len(item.misconceptions))
        assert line.mutants == line.failed + line.survived and line.misnamed == 0
