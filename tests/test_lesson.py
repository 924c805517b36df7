import os
import warnings

import pytest
import torch

from course_lib.lesson import set_up, show


@pytest.fixture(autouse=True)
def _settings_as_before():
    yield
    torch.use_deterministic_algorithms(False)


def test_two_set_ups_give_the_same_random_numbers():
    set_up()
    first = torch.randn(3)
    set_up()
    assert torch.equal(first, torch.randn(3))
    set_up(seed=1)
    assert not torch.equal(first, torch.randn(3))


def test_set_up_asks_for_full_precision_and_deterministic_algorithms():
    torch.set_float32_matmul_precision("medium")
    set_up()
    assert torch.get_float32_matmul_precision() == "highest"
    assert torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("before, after", [(None, ":4096:8"), (":16:8", ":16:8")])
def test_set_up_gives_cublas_a_workspace_of_fixed_size_unless_you_chose_one(
    monkeypatch, before, after
):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", before or "")  # so that it is restored
    if before is None:
        monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    set_up()
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == after


def test_set_up_keeps_pytorchs_advice_about_interfaces_from_learners(monkeypatch):
    monkeypatch.setattr(
        torch,
        "set_float32_matmul_precision",
        lambda _: warnings.warn("Please use the new API settings to control TF32", stacklevel=1),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_up()


@pytest.mark.parametrize(
    "value, decimals, printed",
    [
        (3.14159, 2, "3.14"),
        (torch.tensor([-0.0001, 2.0]), 3, "[0.000, 2.000]"),
        (torch.tensor([[1.0, 2.0], [3.0, -4.0]]), 1, "[[1.0, 2.0],\n [3.0, -4.0]]"),
        (torch.tensor([True, False]), 3, "[True, False]"),
        (torch.tensor([1, -2]), 3, "[1, -2]"),
        (torch.tensor(2.0, requires_grad=True), 0, "2"),
        (float("nan"), 2, "nan"),
    ],
)
def test_numbers_are_printed_alike_everywhere(value, decimals, printed, capsys):
    show(value, decimals)
    assert capsys.readouterr().out == printed + "\n"


def test_the_rows_of_a_named_matrix_stand_under_each_other(capsys):
    show(torch.eye(2), 0, name="I")
    assert capsys.readouterr().out == "I = [[1, 0],\n     [0, 1]]\n"


@pytest.mark.parametrize("value, decimals", [(torch.zeros(2, 2, 2), 3), (1.0, -1)])
def test_what_cannot_be_printed_is_refused(value, decimals):
    with pytest.raises(ValueError, match=f"at most two axes and decimals ≥ 0.*{decimals}: pick"):
        show(value, decimals)
