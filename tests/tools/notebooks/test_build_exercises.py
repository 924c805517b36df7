"""Which exercises are made or checked."""

import pytest

from tools.notebooks import build_exercises
from tools.notebooks.build_exercises import main


@pytest.fixture(autouse=True)
def _all_fresh(monkeypatch):
    monkeypatch.setattr(build_exercises, "is_fresh", lambda _: True)


@pytest.mark.parametrize("topic", ["06", "06_masks"])
def test_a_folder_is_found_by_how_its_name_starts(topic, capsys):
    assert main(["--check", topic]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("06_masks: fresh")


def test_a_topic_that_no_folder_has_is_refused_with_the_list(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--check", "06", "masks"])
    shown = capsys.readouterr()
    assert "got 'masks': choose among" in shown.err and ", 06_masks, " in shown.err
    assert not shown.out
