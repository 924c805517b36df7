import pytest

from course_lib.data import SentencePair
from tools.models.count_grammar import lower_bound, main, pair_with_links


def test_a_pair_is_shown_with_its_links_in_target_order():
    pair = SentencePair(
        ("liest", "er"), ("does", "he", "read"), frozenset({(0, 2), (0, 0), (1, 1)})
    )
    assert pair_with_links(pair) == "liest er\ndoes he read\n    liest=does+read er=he\n"


def test_it_prints_words_constructions_and_the_lower_bound(capsys):
    main(["--size", "300"])
    printed = capsys.readouterr().out
    for part in ("source: ", "target: ", " pronoun\n", "distinct source sentences"):
        assert part in printed


def test_pairs_can_be_read_instead(capsys):
    main(["--name", "grammar_pt_en", "--split", "test", "--sample", "2"])
    printed = capsys.readouterr().out
    assert printed.count("\n    ") == 2 and "distinct" not in printed


def test_an_unknown_split_ends_the_program_with_the_choices(capsys):
    with pytest.raises(SystemExit):
        main(["--split", "dev"])
    assert "compositional" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["grammar_de_en", "grammar_pt_en"])
def test_the_grammar_generates_more_than_a_billion_sentences(name):
    assert lower_bound(name) > 10**9
