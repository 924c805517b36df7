import json
import sys
from importlib.util import find_spec

import pytest

from course_lib.data import hub_corpus, load_corpus
from course_lib.errors import CourseError

# Not imported here: it reads only once, at import, whether it is offline.
pytestmark = pytest.mark.skipif(find_spec("datasets") is None, reason="the extra hub is missing")

CONFIGS = """---
configs:
- config_name: de-en
  data_files:
  - {split: train, path: de-en/train.jsonl}
  - {split: validation, path: de-en/validation.jsonl}
---
"""


def rows(*texts, keys=("de", "en")):
    return [
        {"id": i, "translation": dict(zip(keys, pair, strict=True))} for i, pair in enumerate(texts)
    ]


@pytest.fixture
def put(cache):
    """Write the splits of a dataset into the cache, as JSON-lines or Parquet."""

    def put(name, *, parquet=False, readme="", **splits):
        folder = cache / "hub" / name
        for split, split_rows in splits.items():
            path = folder / f"{split}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            if parquet:
                import pyarrow
                import pyarrow.parquet

                table = pyarrow.Table.from_pylist(split_rows)
                pyarrow.parquet.write_table(table, path.with_suffix(".parquet"))
            else:
                path.write_text("".join(json.dumps(row) + "\n" for row in split_rows))
        (folder / "README.md").write_text(readme)

    return put


@pytest.mark.parametrize("parquet", [False, True])
def test_a_dataset_with_a_translation_column_is_a_corpus(put, parquet):
    put(
        "me/tiny",
        parquet=parquet,
        train=rows(("Größe 👍🏽", "size"), ("我们", "we"), ("e\u0301", "é")),
        validation=rows(("Hund", "dog")),
    )
    corpus = load_corpus("hub:me/tiny")
    assert (corpus.name, set(corpus.splits)) == ("me/tiny", {"train", "valid"})
    assert (corpus.source_language, corpus.target_language) == ("German", "English")
    expected = [("Größe 👍🏽", "size"), ("我们", "we"), ("e\u0301", "é")]
    assert list(corpus.pairs("train")) == expected
    assert list(corpus.pairs("train", 2)) == expected[:2]
    assert list(corpus.pairs("valid")) == [("Hund", "dog")]


def test_removed_pairs_are_reported_whether_all_rows_are_loaded_or_the_first(put):
    messages = []
    put("me/tiny", train=rows(("a", "b"), (None, "c"), ("d", "e")), validation=rows(("a", "b")))
    corpus = hub_corpus("me/tiny", tell=messages.append)
    assert list(corpus.pairs("train")) == [("d", "e")]
    reason = "1 also in valid (first: line 1), 1 with an empty side (first: line 2)"
    assert messages == [f"me/tiny, train: kept 1 of 3 pairs: {reason}"]
    with pytest.raises(CourseError, match="at least one pair in train of me/tiny, kept 0 of 2"):
        corpus.pairs("train", 2)


def test_wmt14_is_the_configuration_de_en_of_its_dataset(put):
    # The keys are in the opposite order: the name of the configuration gives the direction.
    splits = {
        f"de-en/{split}": rows((split, split.upper()), keys=("en", "de"))
        for split in ("train", "validation")
    }
    put("wmt/wmt14", readme=CONFIGS, **splits)
    for name in ("wmt14_de_en", "hub:wmt/wmt14:de-en"):
        corpus = load_corpus(name)
        assert corpus.source_language == "German"
        assert list(corpus.pairs("train", 1)) == [("TRAIN", "train")]
        assert list(corpus.pairs("valid", 1)) == [("VALIDATION", "validation")]
    assert corpus.name == "wmt/wmt14"
    assert load_corpus("wmt14_de_en").name == "wmt14_de_en"


def test_the_direction_can_be_chosen(put):
    put("me/tiny", train=rows(("Hund", "dog")))
    corpus = hub_corpus("me/tiny", languages=("en", "de"))
    assert list(corpus.pairs("train")) == [("dog", "Hund")]
    assert corpus.source_language == "English"


def test_the_direction_can_be_named_where_the_configuration_has_the_other(put):
    splits = {"de-en/train": rows(("Hund", "dog")), "de-en/validation": rows(("Haus", "house"))}
    put("me/books", readme=CONFIGS, **splits)
    assert list(load_corpus("hub:me/books:de-en").pairs("train", 1)) == [("Hund", "dog")]
    corpus = load_corpus("hub:me/books:de-en:en-de")
    assert list(corpus.pairs("train", 1)) == [("dog", "Hund")]
    assert (corpus.source_language, corpus.target_language) == ("English", "German")
    put("me/plain", train=rows(("Hund", "dog")))
    assert load_corpus("hub:me/plain::en-de").source_language == "English"


@pytest.mark.parametrize(("asked", "expected"), [("de-fr", "de and fr"), ("en", "en and ")])
def test_a_direction_that_the_dataset_does_not_have_is_named(put, asked, expected):
    put("me/tiny", train=rows(("Hund", "dog")))
    with pytest.raises(
        CourseError, match=f"expected {expected} in me/tiny, got de and en: .*SOURCE-"
    ):
        load_corpus(f"hub:me/tiny::{asked}")


@pytest.mark.parametrize(
    "row", [{"text": "a", "label": 1}, {"translation": "a"}, {"translation": {"de": "a"}}]
)
def test_a_dataset_without_two_languages_is_named_with_its_columns(put, row):
    put("me/other", train=[row])
    columns = ", ".join(row)
    with pytest.raises(CourseError, match=f"in me/other, got the columns {columns}: is it"):
        load_corpus("hub:me/other")


def test_a_dataset_that_cannot_be_loaded_is_named_with_its_address_and_folder(cache):
    with pytest.raises(CourseError) as error:
        load_corpus("wmt14_de_en")
    message = str(error.value)
    assert message.startswith("could not load wmt/wmt14 with configuration de-en from https://")
    assert f"put a copy of its folder at {cache / 'hub' / 'wmt' / 'wmt14'}" in message
    assert "\n" not in message


def test_an_unknown_configuration_is_named(put):
    put("wmt/wmt14", readme=CONFIGS, **{"de-en/train": rows(("a", "b"))})
    with pytest.raises(CourseError, match=r"could not load .* me-too from .*de-en"):
        load_corpus("hub:wmt/wmt14:me-too")


def test_a_row_that_breaks_later_is_an_error_too(put):
    put("me/tiny", train=[*rows(("a", "b")), {"translation": None}])
    corpus = hub_corpus("me/tiny")
    with pytest.raises(CourseError, match="could not load me/tiny from .*TypeError: "):
        corpus.pairs("train", 2)


def test_without_the_library_the_error_says_how_to_get_it(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(
        CourseError, match="expected the library datasets .*-m pip install .*--upgrade datasets"
    ):
        load_corpus("hub:me/tiny")
