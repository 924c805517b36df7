"""The repository's address, written everywhere by one command."""

import pytest

from tools import ROOT
from tools.notebooks import stamp_links
from tools.notebooks.stamp_links import main, with_address

NEW = "https://github.com/someone/else"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("git clone https://github.com/a/b\n", f"git clone {NEW}\n"),
        ('pip install "x @ git+https://github.com/a/b"', f'pip install "x @ git+{NEW}"'),
        (
            "(https://colab.research.google.com/github/a/b.c/blob/main/n.ipynb)",
            "(https://colab.research.google.com/github/someone/else/blob/main/n.ipynb)",
        ),
        ("https://mybinder.org/v2/gh/a/b/main?x", "https://mybinder.org/v2/gh/someone/else/main?x"),
        ("(https://codespaces.new/a/b).", "(https://codespaces.new/someone/else)."),
        ("https://github.com/other/project", "https://github.com/other/project"),
        ("https://mybinder.org/badge_logo.svg", "https://mybinder.org/badge_logo.svg"),
    ],
)
def test_links_to_the_repository_change_and_no_others(text, expected):
    assert with_address(text, NEW) == expected


def test_what_is_stale_is_written_and_named(tmp_path, monkeypatch, capsys):
    readme = tmp_path / "README.md"
    readme.write_text("git clone https://github.com/old/name\n")
    lesson = tmp_path / "notebooks" / "00_start_here.ipynb"
    lesson.parent.mkdir()
    stored = (ROOT / "notebooks" / lesson.name).read_bytes()
    lesson.write_bytes(stored.replace(b"import importlib.util", b"import what_was_here"))
    monkeypatch.setattr(stamp_links, "ROOT", tmp_path)
    monkeypatch.setattr(stamp_links, "README", readme)
    monkeypatch.setattr(stamp_links, "SOLUTIONS", tmp_path / "solutions")
    assert main([]) == 0
    assert capsys.readouterr().out.split() == [
        "README.md",
        "notebooks/00_start_here.ipynb",
        "2",
        "files",
    ]
    assert lesson.read_bytes() == stored
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["0", "files"]
