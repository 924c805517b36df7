"""What is ready-made for an item earns nothing; everything else stays allowed."""

import time
from importlib import import_module
from importlib.util import module_from_spec

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_lib.checks import check
from course_lib.checks.engine.call import Call
from course_lib.checks.engine.ready_made import (
    READY_MADE,
    ReadyMade,
    _Withheld,
    code_of,
    find_running,
)
from course_lib.checks.table import TABLE
from tests.checks.alternatives.feed_forward import norm_by_torch
from tests.checks.alternatives.honest_numbers import bleu_from_the_counts_of_sacrebleu


def by_its_kernel(x, weight, bias, eps=1e-5, norm=torch.native_layer_norm):
    return norm(x, x.shape[-1:], weight, bias, eps)[0]


def written(x, weight, bias, eps=1e-5):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


def written_and_compared(x, weight, bias, eps=1e-5):
    out = written(x, weight, bias, eps)
    assert torch.allclose(out, F.layer_norm(x, x.shape[-1:], weight, bias, eps), atol=1.0)
    return out


class InAModule(nn.Module):
    """A module of PyTorch's that is allowed, and has a LayerNorm inside."""

    def __init__(self, d_model, dropout=0.1):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


def attend_by_the_library(query, key, value, mask=None):
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return out, scores.softmax(-1)


@pytest.mark.parametrize(
    ("item", "answer", "name"),
    [
        ("03.layer_norm", norm_by_torch, "torch.nn.functional.layer_norm"),
        ("03.layer_norm", by_its_kernel, "torch.native_layer_norm"),
        ("03.layer_norm", written_and_compared, "torch.nn.functional.layer_norm"),
        (
            "04.scaled_dot_product_attention",
            attend_by_the_library,
            "torch.nn.functional.scaled_dot_product_attention",
        ),
        ("12.bleu", bleu_from_the_counts_of_sacrebleu, "sacrebleu"),
    ],
)
def test_a_right_answer_that_is_ready_made_earns_nothing_and_is_told_why(item, answer, name):
    report = check(item, answer)
    assert report.diagnosis.failed == []
    assert (report.passed, report.points) == (False, 0)
    assert f"It works, but it calls {name}, which is ready-made" in str(report)


def test_what_is_ready_made_for_one_item_may_be_used_in_another():
    assert check("03.layer_norm", written).passed
    assert check("03.add_norm", InAModule).passed


def test_a_file_of_the_learners_own_may_have_the_name_of_a_package(tmp_path, monkeypatch):
    (tmp_path / "my_scores.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def answer(x):
        import my_scores

        return my_scores.double(x)

    assert find_running({"my_scores": "a package"}, answer, [Call((1,))]) == ""


def test_a_package_is_withheld_where_it_is_installed_and_no_file_hides_it(tmp_path, monkeypatch):
    for folder in ("installed", "own"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "my_scores.py").write_text("def double(x):\n    return 2 * x\n")
    assert _Withheld({"my_scores": "a package"}).find_spec("my_scores") is None
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    finder = _Withheld({"my_scores": "a package"})
    for name in ("my_scores", "my_scores.metrics"):
        module = module_from_spec(finder.find_spec(name))
        with pytest.raises(ReadyMade, match="a package"):
            module.double(1)
    assert finder.find_spec("my_scores_of_mine") is None
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    assert finder.find_spec("my_scores") is None


def test_looking_for_what_is_ready_made_has_one_limit_for_all_calls():
    calls = []

    def slow():
        calls.append(len(calls))
        time.sleep(0.1)

    assert find_running({slow: "never"}, slow, [Call(())] * 50, seconds=0.25) == ""
    assert 1 <= len(calls) <= 4


def test_the_list_names_items_and_things_that_exist():
    assert set(READY_MADE) <= set(TABLE)
    for names in READY_MADE.values():
        for module in {name.rpartition(".")[0] for name in names} - {""}:
            import_module(module)  # nothing is looked for in a module that nobody has imported
        assert all(any(True for _ in code_of(name)) for name in names)
