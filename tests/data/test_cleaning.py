import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import TextPair, clean, cleaning, read_json_lines, read_tsv
from course_lib.data.cleaning import HeldOut, key
from course_lib.data.vocabulary import split_words


def text_pairs(*sources, target="x"):
    return [TextPair(source, target) for source in sources]


def held(*sources, target="y"):
    return HeldOut.of(text_pairs(*sources, target=target))


def test_clean_pairs_are_left_alone():
    pairs = text_pairs("a", "b")
    kept, report = clean(pairs, held_out={"valid": held("c")}, max_words=5, max_characters=10)
    assert kept is pairs
    assert str(report) == "kept 2 of 2 pairs"


def test_the_report_counts_every_reason_and_names_its_first_line():
    pairs = [*text_pairs("a", "b b b", ""), TextPair("c", "\u00a0\t"), *text_pairs("d", "e", "d")]
    kept, report = clean(pairs, held_out={"valid": held("d"), "test": held("a")}, max_words=2)
    assert list(kept) == text_pairs("e")
    assert (report.total, report.kept) == (7, 1)
    assert str(report) == (
        "kept 1 of 7 pairs: 1 also in test (first: line 1), 1 with more than 2 words on a side "
        "(first: line 2), 2 with an empty side (first: line 3), 2 also in valid (first: line 5)"
    )


def test_large_counts_are_readable():
    _, report = clean(text_pairs(*[""] * 1234))
    assert str(report).startswith("kept 0 of 1,234 pairs: 1,234 with an empty side")


def test_pairs_that_are_kept_stay_in_order_and_can_be_sliced():
    kept, _ = clean(text_pairs(*"a b  c  d e".split(" ")))
    assert [pair.source_text for pair in kept] == list("abcde")
    assert (kept[-1].source_text, [pair.source_text for pair in kept[1:3]]) == ("e", ["b", "c"])


def test_a_held_out_source_is_found_whatever_its_translation_spacing_and_capitals():
    sources = ["Amanh\u00e3 .", "  AMANHA\u0303. ", "amanh\u00e3\u2009\u00a0.", "amanha."]
    valid = HeldOut.of([TextPair("Amanha\u0303.", "tomorrow")])
    kept, report = clean(text_pairs(*sources), held_out={"valid": valid})
    assert [pair.source_text for pair in kept] == ["amanha."]
    assert str(report) == "kept 1 of 4 pairs: 3 also in valid (first: line 1)"


def test_a_held_out_target_alone_is_no_reason_but_reported():
    held_out = {"valid": held("no"), "test": held("Danke.", target="Thanks.")}
    pairs = text_pairs("Bitte.", "") + text_pairs("Vielen Dank.", "danke .", target="THANKS .")
    kept, report = clean(pairs, held_out=held_out)
    assert len(kept) == 2
    assert str(report) == (
        "kept 2 of 4 pairs: 1 with an empty side (first: line 2), 1 also in test (first: line 4); "
        "among them 1 with a target that is also in test (first: line 3)"
    )


@given(st.text(), st.text())
def test_what_a_vocabulary_of_words_reads_alike_is_alike(one, other):
    for text in (other, f" {one.upper().lower()} ", " ".join(split_words(one))):
        assert split_words(one) != split_words(text) or key(one) == key(text)


@pytest.mark.parametrize("side", ["source", "target"])
def test_either_side_can_be_too_long(side):
    long, short = "我" * 11, "I"
    pair = TextPair(long, short) if side == "source" else TextPair(short, long)
    kept, report = clean([pair, TextPair(long[1:], long[1:])], max_characters=10)
    assert len(kept) == 1
    assert "1 with more than 10 characters on a side (first: line 1)" in str(report)


@given(st.lists(st.sampled_from([" ", "a", "bc", "\u3000", "\n"])).map("".join), st.integers(0, 5))
def test_words_are_counted_as_white_space_separates_them(text, limit):
    kept, _ = clean([TextPair("x" + text, "x" + text)], max_words=limit)
    assert len(kept) == (len(("x" + text).split()) <= limit)


STRANGE_TEXTS = [
    ("Ich bin schÃ¶n.", "encoded twice"),
    ("â€œJaâ€\x9d", "encoded twice"),
    ("РџСЂРёРІРµС‚", "encoded twice"),
    ("sch\ufffdn", "with a character lost"),
    ("Tom &amp; Mary", "with marks of HTML"),
    ("a\x08b", "with control characters"),
]


@pytest.mark.parametrize(("text", "remark"), STRANGE_TEXTS)
@pytest.mark.parametrize("swap", [False, True])
def test_what_a_conversion_left_behind_is_counted_and_kept(text, remark, swap):
    pair = TextPair("ok", text) if swap else TextPair(text, "ok")
    kept, report = clean([*text_pairs("gut", "schön"), pair, pair])
    assert len(kept) == 4
    assert f"kept 4 of 4 pairs; among them 2 {remark}" in str(report)
    assert str(report).endswith("(first: line 3)")


@pytest.mark.parametrize(
    "text",
    "Größe|L’œuvre naïve|« CAFÉ »|São João|Привет, мир|我们|ÄÖÜ äöü|Ää|naïveté|1 €|°C|„Ä“".split(
        "|"
    ),
)
def test_what_is_right_is_not_taken_for_encoded_twice(text):
    assert str(clean(text_pairs(text))[1]) == "kept 1 of 1 pairs"


def test_damage_is_looked_for_in_the_first_pairs_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(cleaning, "ASKED", 2)
    pairs = text_pairs("gut", "a &amp; b", "c &amp; d")
    kept, report = clean(pairs)
    assert kept is pairs
    assert str(report) == (
        "kept 3 of 3 pairs; among them 1 of the first 2 with marks of HTML, such as &amp; for & "
        "(first: line 2)"
    )


def test_the_report_names_the_object_of_a_list_in_json(write):
    rows = [{"de": "ja", "en": "yes"}, {"de": "", "en": "no"}]
    pairs = read_json_lines(write("a.json", [json.dumps(rows)]))
    assert "1 with an empty side (first: object 2)" in str(clean(pairs[:5])[1])


@pytest.mark.parametrize(("same", "others", "told"), [(4, 0, True), (1, 2, True), (1, 20, False)])
def test_many_pairs_of_equal_sides_are_reported(same, others, told):
    _, report = clean([*[TextPair("Tom", " Tom ")] * same, *[TextPair("a", "b")] * others])
    found = f"among them {same} with the same text on both sides (first: line 1)" in str(report)
    assert found == told


@pytest.mark.parametrize("text", ["\u200b", "\ufeff", "\u00ad \u2060"])
def test_a_side_of_which_nothing_can_be_seen_is_empty(text):
    kept, report = clean([TextPair("a", "b"), TextPair("a", text)])
    assert len(kept) == 1
    assert "1 with an empty side (first: line 2)" in str(report)


def test_the_report_names_the_line_of_the_file_below_a_header(write):
    path = write("a.csv", ["en;de", '"a";"b', 'c"', "d;", "e;f"])
    pairs = read_tsv(path)
    assert list(pairs) == [("a", "b c"), ("d", ""), ("e", "f")]
    assert "1 with an empty side (first: line 4)" in str(clean(pairs)[1])
