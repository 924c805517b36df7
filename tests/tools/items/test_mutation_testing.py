"""Mutants are made of solutions and judged; cosmic-ray, which makes them, is replaced by a stub."""

import sys
from types import SimpleNamespace

import pytest

from tools.items import mutation_testing
from tools.items.mutation_testing import Mutant, main, mutants_of, mutations

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


def test_mutants_are_made_of_every_answer_and_know_the_cells_above(one_mutation):
    found = {mutant.item_id: mutant for mutant in mutants_of("06")}
    masks = {f"06.{name}_mask" for name in ("padding", "causal", "decoder")}
    assert set(found) == masks | {"06.masked_softmax", "06.bug"}
    decoder = found["06.decoder_mask"]
    assert decoder.name == "decoder_mask" and "def causal_mask" in decoder.before
    assert "check(" not in decoder.before and "set_up" not in decoder.before


def test_the_number_of_the_wrong_line_is_not_mutated(monkeypatch):
    monkeypatch.setattr(
        mutation_testing, "mutations", lambda code: [code.replace("return 5", "return 6")]
    )
    assert "06.bug" not in {mutant.item_id for mutant in mutants_of("06")}


@pytest.fixture
def page(monkeypatch, tmp_path):
    monkeypatch.setattr(mutation_testing, "PAGE", tmp_path / "mutation_testing.md")
    return mutation_testing.PAGE


def test_the_command_counts_verdicts_and_shows_survivors(one_mutation, page, capsys):
    assert main(["06"]) == 0
    printed = capsys.readouterr().out
    for text in (printed, page.read_text("utf-8")):
        assert "| 06 | 5 | 1 | 4 | 0 | " in text  # triu changes one of five answers
        assert "- 06.padding_mask survived: `return  " in text


def test_a_run_of_one_lesson_leaves_the_others_on_the_page(one_mutation, page):
    assert main(["06"]) == 0
    first = page.read_text("utf-8")
    assert main(["06"]) == 0 and page.read_text("utf-8") == first
    assert main(["01"]) == 0
    both = page.read_text("utf-8")
    assert set(first.splitlines()) < set(both.splitlines())
    assert both.index("| 01 |") < both.index("| 06 |")


def test_the_page_is_stale_when_an_answer_changes(one_mutation, page, monkeypatch, capsys):
    monkeypatch.setattr(mutation_testing, "TOPICS", {"06": "masks"})
    assert main([]) == 0 and main(["--check"]) == 0
    monkeypatch.setattr(mutation_testing, "digest", lambda lesson: "another")
    assert main(["--check"]) == 1
    assert "mutation_testing.md is stale for 06" in capsys.readouterr().out


def test_the_stored_page_is_up_to_date_and_nothing_is_misnamed():
    assert main(["--check"]) == 0, "run python -m tools.items.mutation_testing"
    assert "misnamed: `" not in mutation_testing.PAGE.read_text("utf-8")


def test_the_digest_of_a_lesson_covers_what_its_items_share_with_others(monkeypatch, tmp_path):
    (tmp_path / "two_sentences").mkdir()
    (tmp_path / "two_sentences" / "loss.py").write_text(
        "from course_lib.checks.items.losses import mean\n"
    )
    (tmp_path / "losses.py").write_text("mean = 1\n")
    monkeypatch.setattr(mutation_testing, "ITEMS", tmp_path)
    before = mutation_testing.digest("10")
    (tmp_path / "of_nobody_here.py").write_text("mean = 1\n")
    assert mutation_testing.digest("10") == before
    (tmp_path / "losses.py").write_text("mean = 2\n")
    assert mutation_testing.digest("10") != before
