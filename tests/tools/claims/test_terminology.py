"""The finder finds what it should and nothing else; and the tree has none of the listed words."""

import pytest

from tools.claims import terminology
from tools.claims.terminology import Term, all_hits, files, hits_in, load_terms, main


def words(text, *terms, path="course_lib/a.py"):
    return [hit.word for hit in hits_in(path, text, terms)]


def test_the_whole_tree_uses_the_terms_of_the_field():
    if hits := all_hits(files()):
        pytest.fail("\n".join(map(str, hits)), pytrace=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the gizmo of two", ["gizmo"]),
        ("two gizmos, a gizmo", ["gizmos", "gizmo"]),
        ("my_gizmo = 1", ["gizmo"]),
        ("gizmo_of(x)", ["gizmo"]),
        ("def _gizmo():", ["_gizmo"]),
        ("gizmoing, ungizmo, gizmo2", []),
    ],
)
def test_whole_words_and_parts_of_snake_case_names_are_found(text, expected):
    assert words(text, Term("gizmos?", "device")) == expected


def test_a_hit_says_where_it_is_and_what_to_write_instead():
    [hit] = hits_in("a.py", "first\n    a gizmo\n", [Term("gizmo", "device")])
    assert str(hit) == "a.py:2: 'gizmo' -> device\n    a gizmo"


def test_an_entry_may_be_limited_to_some_paths():
    term = Term("whatsit", "name", only=["course_lib/decoding/*", "*.md"])
    assert words("the whatsit", term, path="course_lib/decoding/beam.py") == ["whatsit"]
    assert words("the whatsit", term, path="docs/map.md") == ["whatsit"]
    assert words("the whatsit", term, path="course_lib/cli.py") == []


def test_some_paths_may_be_excepted():
    term = Term("whatsit", "name", only=["docs/*"], except_in=["docs/glossary.md"])
    assert words("the whatsit", term, path="docs/map.md") == ["whatsit"]
    assert words("the whatsit", term, path="docs/glossary.md") == []


def test_a_phrase_may_be_allowed_and_hides_only_itself():
    term = Term("spots?", "point", allow=["odd[- ]spot", "blind spots?"])
    assert words("odd-spot, to 3 blind spots", term) == []
    assert words("odd spot, in the right spot", term) == ["spot"]


def test_every_entry_of_the_list_compiles_and_has_a_term_to_use():
    terms = load_terms()
    assert len(terms) > 20
    for term in terms:
        assert term.use and not term.avoided.fullmatch("") and term.allowed


def test_the_list_is_read_from_a_file(tmp_path):
    path = tmp_path / "list.toml"
    path.write_text('[[term]]\navoid = "heap"\nuse = "list"\nonly = ["*.py"]\n')
    assert load_terms(path) == [Term("heap", "list", only=["*.py"])]


def test_notebooks_and_the_list_itself_are_left_out():
    found = files()
    assert "Makefile" in found and "tools/notebooks/notebook_rules.py" in found
    assert not [path for path in found if path.endswith(".ipynb") or "terminology." in path[:19]]


@pytest.mark.parametrize(("text", "status"), [("a heap", 1), ("a list", 0)])
def test_the_command_lists_the_hits_below_the_given_paths(
    tmp_path, monkeypatch, capsys, text, status
):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(text)
    (tmp_path / "other.md").write_text("a heap")
    monkeypatch.setattr(terminology, "files", lambda: ["docs/page.md", "other.md"])
    monkeypatch.setattr(terminology, "load_terms", lambda: [Term("heap", "list")])
    original = terminology.all_hits
    monkeypatch.setattr(terminology, "all_hits", lambda paths: original(paths, tmp_path))
    assert main(["docs"]) == status
    printed = capsys.readouterr().out
    assert printed.endswith(f"{status} hits in 1 files\n")
    assert ("docs/page.md:1: 'heap' -> list" in printed) == bool(status)
    assert main([]) == 1
