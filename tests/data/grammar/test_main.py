"""The program that prints the grammar for reading."""

import sys

import pytest

from course_lib.data.grammar.__main__ import main, show
from course_lib.data.pairs import SentencePair


def test_a_pair_is_shown_with_its_links_in_target_order():
    pair = SentencePair(
        ("liest", "er"), ("does", "he", "read"), frozenset({(0, 2), (0, 0), (1, 1)})
    )
    assert show(pair) == "liest er\ndoes he read\n    liest=does+read er=he\n"


def test_count_prints_words_constructions_and_the_lower_bound(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["grammar", "--sample", "2", "--count", "--size", "300"])
    main()
    printed = capsys.readouterr().out
    for part in ("source: ", "target: ", " pronoun\n", "distinct source sentences"):
        assert part in printed


def test_an_unknown_split_ends_the_program_with_the_choices(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["grammar", "--split", "dev"])
    with pytest.raises(SystemExit):
        main()
    assert "compositional" in capsys.readouterr().err
