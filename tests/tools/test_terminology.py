"""The finder finds what it should and nothing else; and the tree has none of the listed words."""

import pytest

from tools import terminology
from tools.terminology import Term, all_hits, files, hits_in, load_terms, main


def words(text, *terms, path="course_lib/a.py"):
    return [hit.word for hit in hits_in(path, text, terms)]


def test_the_whole_tree_uses_the_terms_of_the_field():
    assert [str(hit) for hit in all_hits(files())] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the likeness of two", ["likeness"]),
        ("two likenesses, a likeness", ["likenesses", "likeness"]),
        ("my_likeness = 1", ["likeness"]),
        ("likeness_of(x)", ["likeness"]),
        ("def _likeness():", ["_likeness"]),
        ("likenessing, unlikeness, likeness2", []),
    ],
)
def test_whole_words_and_parts_of_snake_case_names_are_found(text, expected):
    assert words(text, Term("likeness(es)?", "cosine similarity")) == expected


def test_a_hit_says_where_it_is_and_what_to_write_instead():
    [hit] = hits_in("a.py", "first\n    a likeness\n", [Term("likeness", "cosine similarity")])
    assert str(hit) == "a.py:2: 'likeness' -> cosine similarity\n    a likeness"


def test_an_entry_may_be_limited_to_some_paths():
    term = Term("latest", "last token", only=["course_lib/decoding/*", "*.md"])
    assert words("the latest", term, path="course_lib/decoding/beam.py") == ["latest"]
    assert words("the latest", term, path="docs/map.md") == ["latest"]
    assert words("the latest", term, path="course_lib/cli.py") == []


def test_a_phrase_may_be_allowed_and_hides_only_itself():
    term = Term("places?", "position", allow=["in[- ]place", "decimal places?"])
    assert words("in-place, to 3 decimal places", term) == []
    assert words("in place, in the right place", term) == ["place"]


def test_every_entry_of_the_list_compiles_and_has_a_term_to_use():
    terms = load_terms()
    assert len(terms) > 20
    for term in terms:
        assert term.use and not term.avoided.fullmatch("") and term.allowed


def test_the_list_is_read_from_a_file(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text('[[term]]\navoid = "pile"\nuse = "stack"\nonly = ["*.py"]\n')
    assert load_terms(path) == [Term("pile", "stack", only=["*.py"])]


def test_notebooks_and_the_list_itself_are_left_out():
    found = files()
    assert "Makefile" in found and "tools/notebook_rules.py" in found
    assert not [path for path in found if path.endswith(".ipynb") or "terminology." in path[:19]]


@pytest.mark.parametrize(("text", "status"), [("a pile", 1), ("a stack", 0)])
def test_the_command_lists_the_hits_below_the_given_paths(
    tmp_path, monkeypatch, capsys, text, status
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(text)
    (tmp_path / "other.md").write_text("a pile")
    monkeypatch.setattr(terminology, "files", lambda: ["docs/page.md", "other.md"])
    monkeypatch.setattr(terminology, "load_terms", lambda: [Term("pile", "stack")])
    original = terminology.all_hits
    monkeypatch.setattr(terminology, "all_hits", lambda paths: original(paths, tmp_path))
    assert main(["docs"]) == status
    printed = capsys.readouterr().out
    assert printed.endswith(f"{status} hits in 1 files\n")
    assert ("docs/page.md:1: 'pile' -> stack" in printed) == bool(status)
    assert main([]) == 1
