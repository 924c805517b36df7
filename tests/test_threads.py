"""What `course` says of PyTorch's threads before PyTorch is imported."""

import os

import pytest

from course_lib import cli, threads

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"GOMP_SPINCOUNT": "3000"}),
        ({"GOMP_SPINCOUNT": "7"}, {"GOMP_SPINCOUNT": "7"}),
        ({"OMP_WAIT_POLICY": "active"}, {"OMP_WAIT_POLICY": "active"}),
    ],
)
def test_threads_spin_less_unless_somebody_has_decided_otherwise(monkeypatch, before, after):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    threads.spin_less()
    assert {
        k: v for k, v in os.environ.items() if k in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    } == after


def test_every_command_says_so_first(monkeypatch):
    called = []
    monkeypatch.setattr(cli, "spin_less", lambda: called.append(True))
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    assert called == [True]
