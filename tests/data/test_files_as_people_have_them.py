"""Files of sentence pairs as people have them: each is read right, or refused with the way out."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from course_lib.data import file_corpus
from course_lib.errors import CourseError

PAIRS = [("Go now.", "Geh jetzt!"), ('"Yes, I do," he told me.', "„Ja“, sagte er; gern.")]
PAIRS += [("I see 3 dogs", "Ich sehe 3 Hunde"), ("Thanks", "Danke")]
SWAPPED = [pair[::-1] for pair in PAIRS]
CREDIT = "CC-BY 2.0 (France) Attribution: tatoeba.org #2877272 (CM) & #8597805 (Roujin)"


def rows(*columns, divider="\t", end="\n"):
    """A table of columns: a side of the pairs by its number, a text, or a function of the row."""
    fields = [
        [pair[c] if isinstance(c, int) else c(i) if callable(c) else c for c in columns]
        for i, pair in enumerate(PAIRS)
    ]
    return "".join(divider.join(row) + end for row in fields)


def number(i):
    return str(1276 + i)


def quoted(divider, *, every=False, head=""):
    fields = [[f'"{c.replace(chr(34), chr(34) * 2)}"' for c in pair] for pair in PAIRS]
    if not every:
        special = divider + ',"\n'
        fields = [
            [q if set(c) & set(special) else c for q, c in zip(quotes, pair, strict=True)]
            for quotes, pair in zip(fields, PAIRS, strict=True)
        ]
    return head + "".join(divider.join(row) + "\r\n" for row in fields)


def zipped(files):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def tarred(text):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("deu.txt")
        info.size = len(text.encode())
        archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


def json_rows(source="en", target="de", **more):
    return [{**more, source: one, target: other} for one, other in PAIRS]


def lines(side):
    return "".join(f"{pair[side]}\n" for pair in PAIRS)


def json_lines(objects):
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects)


MANYTHINGS = rows(0, 1, CREDIT)
DE_EN = ["a.en", "a.de"]  # two files: the sides of the pairs

# By kind: names and contents of the files (a text is UTF-8), the columns that are asked for, and
# the pairs that are read or the way out that is named.
KINDS = {
    # manythings.org and tatoeba.org
    "manythings": ("deu.txt", MANYTHINGS, None, PAIRS),
    "manythings, called .tsv": ("deu.tsv", MANYTHINGS, None, PAIRS),
    "manythings, called nothing": ("deu", MANYTHINGS, None, PAIRS),
    "manythings, Windows line ends": ("deu.txt", MANYTHINGS.replace("\n", "\r\n"), None, PAIRS),
    "manythings, with a byte order mark": ("deu.txt", "\ufeff" + MANYTHINGS, None, PAIRS),
    "manythings, the other way": ("deu.txt", MANYTHINGS, "2,1", SWAPPED),
    "manythings, the zip": (
        "deu-eng.zip",
        zipped({"deu.txt": MANYTHINGS, "_about.txt": "** Info **\nCheck for newest\n"}),
        "2,1",
        SWAPPED,
    ),
    "manythings, the zip of a Mac": (
        "deu-eng.zip",
        zipped(
            {
                "deu/deu.txt": MANYTHINGS,
                "__MACOSX/deu/._deu.txt": b"\0\5\x16\7",
                "deu/": "",
            }
        ),
        None,
        PAIRS,
    ),
    "manythings, gzipped": ("deu.txt.gz", gzip.compress(MANYTHINGS.encode()), None, PAIRS),
    "manythings, bzip2": ("deu.txt.bz2", bz2.compress(MANYTHINGS.encode()), None, PAIRS),
    "manythings, xz": ("deu.txt.xz", lzma.compress(MANYTHINGS.encode()), None, PAIRS),
    "manythings, named .gz but unpacked": ("deu.txt.gz", MANYTHINGS, None, PAIRS),
    "manythings, gzipped without a name for it": (
        "deu.txt",
        gzip.compress(MANYTHINGS.encode()),
        None,
        PAIRS,
    ),
    "two columns of it": ("deu.txt", rows(0, 1), None, PAIRS),
    "two columns, blank lines at the end": ("deu.txt", rows(0, 1) + "\n \n", None, PAIRS),
    "two columns, a tab at each end": ("deu.tsv", rows(0, 1, ""), None, PAIRS),
    "a blank first line": ("deu.tsv", "\n" + rows(0, 1), None, PAIRS),
    "tatoeba with ids": ("pairs.tsv", "\ufeff" + rows(number, 0, number, 1), None, PAIRS),
    "tatoeba with ids, the other way": ("p.tsv", rows(number, 0, number, 1), "4,2", SWAPPED),
    "tatoeba with ids and codes": ("p.tsv", rows(number, "eng", 0, number, "deu", 1), None, PAIRS),
    "tatoeba, one language": ("s.tsv", rows(number, "eng", 0), None, "give both files"),
    "tatoeba, its links": (
        "links.csv",
        "1\t77\n2\t78\n",
        None,
        "of which none holds text: .*else say which .* --columns",
    ),
    "tatoeba, its links after all": (
        "links.csv",
        "1\t77\n2\t78\n",
        "1,2",
        [("1", "77"), ("2", "78")],
    ),
    "digits to be reversed": (
        "digits.tsv",
        "345\t543\n12\t21\n7\t7\n",
        None,
        [("345", "543"), ("12", "21"), ("7", "7")],
    ),
    "three columns of digits": (
        "a.tsv",
        "1\t2\t3\n5\t4\t9\n",
        None,
        "none holds text: .* --columns",
    ),
    "tatoeba, the archive": ("sentences.tar.gz", tarred(MANYTHINGS), None, "`tar xf`"),
    # tables
    "a header": ("a.tsv", "English\tGerman\n" + rows(0, 1), None, PAIRS),
    "a header with two directions": ("a.tsv", "en\tde\n" + rows(0, 1), "de,en", SWAPPED),
    "a header of codes of three letters": ("a.tsv", "eng\tdeu\n" + rows(0, 1), None, PAIRS),
    "a header of an own kind": ("a.tsv", "Front\tBack\n" + rows(0, 1), "Back,Front", SWAPPED),
    "an index and a header": (
        "a.csv",
        ",en,de\n0,Go,Geh\n1,Thanks,Danke\n",
        None,
        [("Go", "Geh"), ("Thanks", "Danke")],
    ),
    "a header, and codes": (
        "a.csv",
        "lang,text,trans\nde,Hund läuft,dog runs\nde,Katze,cat\n",
        None,
        [("Hund läuft", "dog runs"), ("Katze", "cat")],
    ),
    "words that look like codes": (
        "a.tsv",
        "Hund\tdog\t\r\nKatze\tcat\t\r\n",
        None,
        [("Hund", "dog"), ("Katze", "cat")],
    ),
    "words that look like a header": (
        "a.tsv",
        "Is it?\tIst es?\nno\tnein\n",
        None,
        [("Is it?", "Ist es?"), ("no", "nein")],
    ),
    "a comment in the first row": (
        "a.tsv",
        "Go\tGeh\tslang\nHi\tHallo\t\nNo\tNein\t\n",
        None,
        [("Go", "Geh"), ("Hi", "Hallo"), ("No", "Nein")],
    ),
    "words that are codes": (
        "a.tsv",
        "it\tes\nhouse\tHaus\n",
        None,
        [("it", "es"), ("house", "Haus")],
    ),
    "codes that are words": ("a.tsv", "it\tes\n" + rows(0, 1), None, PAIRS),
    "a spreadsheet's quotes": ("a.tsv", quoted("\t"), None, PAIRS),
    "an empty file": ("a.tsv", "", None, "which is empty"),
    "a deck of Anki": ("a.txt", "#separator:tab\n" + rows(0, 1), None, "'#separator:tab'"),
    "numbers as a header": ("a.tsv", "1\t2\n" + rows(0, 1), None, PAIRS),
    "a score before": ("wikimatrix.tsv", rows(lambda i: f"1.{i}2", 0, 1), None, PAIRS),
    "addresses before": ("p.tsv", rows("http://a.b/c", "https://d.e", 0, 1), None, PAIRS),
    "three texts": ("a.tsv", rows(0, 1, 1), None, "which two are meant with --columns"),
    "three texts, two of them named": ("a.tsv", rows(0, 1, 1), "3,1", SWAPPED),
    "a column that is not there": ("a.tsv", rows(0, 1), "1,3", "expected a column '3', got 2"),
    "one column": ("a.txt", lines(0), None, "two line-aligned files or one table"),
    "a line short of a tab": ("a.tsv", rows(0, 1) + "Hm.\n", None, "line 5: expected 2 columns"),
    "a line with a tab too many": ("a.tsv", rows(0, 1) + "a\tb\tc\n", None, "line 5: expected 2"),
    "bars between": ("a.txt", rows(0, 1, divider=" ||| "), None, PAIRS),
    "commas": ("a.csv", quoted(","), None, PAIRS),
    "commas, a header": ("a.csv", quoted(",", head="en,de\r\n"), None, PAIRS),
    "a header of many words": (
        "eng_-french.csv",
        quoted(",", head="English words/sentences,German words/sentences\r\n"),
        None,
        PAIRS,
    ),
    "semicolons": ("a.csv", quoted(";"), None, PAIRS),
    "semicolons, named first": ("a.csv", "sep=;\r\n" + quoted(";"), None, PAIRS),
    "semicolons, everything quoted": ("a.csv", "\ufeff" + quoted(";", every=True), None, PAIRS),
    "tabs in a .csv": ("a.csv", quoted("\t"), None, PAIRS),
    "commas without quotes": (
        "a.csv",
        "Ja, gut,Yes\nNein,No\n",
        None,
        "quote sentences with a comma",
    ),
    "a quote without an end": ("a.csv", 'Ja,"Yes\nNein,No\n', None, "a quotation mark not closed"),
    "a field of two lines": (
        "a.csv",
        'Ja,"Yes\r\nyes"\r\nb,c\r\n',
        None,
        [("Ja", "Yes yes"), ("b", "c")],
    ),
    "a spreadsheet's text": ("a.txt", quoted("\t").encode("utf-16"), None, PAIRS),
    "a spreadsheet's text, from the other end": (
        "a.txt",
        codecs.BOM_UTF16_BE + rows(0, 1).encode("utf-16-be"),
        None,
        PAIRS,
    ),
    "UTF-16 without its mark": ("a.tsv", rows(0, 1).encode("utf-16-le"), None, "probably UTF-16"),
    "Windows-1252": ("a.csv", "Größe;size\r\n".encode("cp1252"), None, "as CSV UTF-8"),
    "an old Mac's line ends": ("a.tsv", rows(0, 1, end="\r"), None, PAIRS),
    "a workbook": ("a.xlsx", zipped({"xl/workbook.xml": "<x>"}), None, "save the table as CSV"),
    "a workbook called .csv": ("a.csv", zipped({"xl.xml": "<x>"}), None, "save the table as CSV"),
    # pairs of files
    "two files": (DE_EN, [lines(0), lines(1)], None, PAIRS),
    "two files, one gzipped": (DE_EN, [gzip.compress(lines(0).encode()), lines(1)], None, PAIRS),
    "two files, Windows and Mac": (
        DE_EN,
        ["\ufeff" + lines(0).replace("\n", "\r\n"), lines(1).encode("utf-16")],
        None,
        PAIRS,
    ),
    "two files, the other way": (
        DE_EN,
        [lines(0), lines(1)],
        "de,en",
        "got two files: give the source's file first",
    ),
    "two files, another length": (DE_EN, [lines(0), "a\n"], None, "line 2 of .* without a partner"),
    "two files, one line with a tab": (
        DE_EN,
        ["1.\tGo\nHi\nNo\n", "Geh\nHallo\nNein\n"],
        None,
        [("1.\tGo", "Geh"), ("Hi", "Hallo"), ("No", "Nein")],
    ),
    "two files that are tables below a title": (
        ["a.tsv", "b.tsv"],
        ["Words\n" + rows(0, 1)] * 2,
        None,
        "give it alone",
    ),
    "two files that are tables": (["a.tsv", "b.tsv"], [rows(0, 1)] * 2, None, "give it alone"),
    "two files of JSON": (["a.jsonl", "b.jsonl"], ['{"text": "a"}\n'] * 2, None, "give it alone"),
    "OPUS, the zip": (
        "de-en.txt.zip",
        zipped(
            {
                "Books.de-en.de": lines(1),
                "Books.de-en.en": lines(0),
                "Books.de-en.xml": "<?xml?>",
                "README": "a",
                "LICENSE": "b",
            }
        ),
        None,
        SWAPPED,
    ),
    "two zips": (
        ["a.en.zip", "a.de.zip"],
        [zipped({"a.en": lines(0)}), zipped({"a.de": lines(1)})],
        None,
        PAIRS,
    ),
    "a zip of none": ("a.zip", zipped({"_about.txt": "a"}), None, "expected sentences in .*none"),
    "a zip of three": (
        "a.zip",
        zipped({"a": "x", "b": "y", "c": "z"}),
        None,
        "unpack or name those",
    ),
    "a zip cut off": ("a.zip", zipped({"deu.txt": MANYTHINGS})[:-30], None, "download it again"),
    "TMX": ("a.tmx", '<?xml version="1.0"?>\n<tmx>', None, "two line-aligned files"),
    "a web page": ("deu.txt", "<!DOCTYPE html>\n<html>", None, "download the file itself"),
    # JSON
    "JSON lines": ("a.jsonl", json_lines(json_rows()), None, PAIRS),
    "JSON lines called .txt": ("a.txt", json_lines(json_rows()), None, PAIRS),
    "JSON lines, the other way": ("a.jsonl", json_lines(json_rows()), "de,en", SWAPPED),
    "JSON lines, one blank": ("a.jsonl", json_lines(json_rows()) + "\n", None, PAIRS),
    "JSON lines, three texts": ("a.jsonl", json_lines(json_rows(id="7")), None, "--columns"),
    "JSON lines, two of three": ("a.jsonl", json_lines(json_rows(id="7")), "en,de", PAIRS),
    "JSON of the hub": (
        "a.json",
        json_lines({"id": i, "translation": row} for i, row in enumerate(json_rows())),
        None,
        PAIRS,
    ),
    "a list in JSON": ("a.json", json.dumps(json_rows(), indent=1), None, PAIRS),
    "JSON with a key translation": (
        "a.jsonl",
        json_lines(json_rows("en", "translation")),
        None,
        PAIRS,
    ),
    "a list in JSON, an object without texts": (
        "a.json",
        json.dumps([*json_rows(), {}]),
        None,
        "a.json, object 5: expected texts under 'en' and 'de', got none",
    ),
    "a list in JSON, a number in it": (
        "a.json",
        "\n\n" + json.dumps([*json_rows(), 7]),
        None,
        "a.json, object 5: expected a JSON object, got int",
    ),
    "half a character in a list": (
        "a.json",
        '[{"de": "b", "en": "a"},\n\n\n{"de": "\\udc00", "en": "a"}]',
        None,
        "object 2: .* half a char",
    ),
    "half a character in JSON": ("a.jsonl", '{"de": "\\ud800", "en": "a"}\n', None, "half a char"),
    "half a character in a key": ("a.jsonl", '{"\\ud800": "a", "en": "a"}\n', None, "half a char"),
    # damage
    "a NUL early": ("a.tsv", rows(0, 1) + "a\0\tb\n", None, "line 5: expected text, got a NUL"),
    "a NUL late": ("a.tsv", rows(0, 1) * 999 + "a\0\tb\n", None, "line 3997: .* a NUL byte"),
    "files joined with their marks": ("a.tsv", ("\ufeff" + rows(0, 1)) * 2, None, PAIRS * 2),
    "a bzip2 with a damage": (
        "a.bz2",
        bz2.compress(b"a\tb\n" * 999)[:-30] + b"\xff" * 30,
        None,
        "expected a .bz2 file .* download it again",
    ),
    "a text that begins like a bzip2": (
        "a.tsv",
        "BZh\tBezirkshaus\n",
        None,
        [("BZh", "Bezirkshaus")],
    ),
    "a gzip cut off": ("a.gz", gzip.compress(b"a\tb\n" * 999)[:-9], None, "download it again"),
}


def put(folder: Path, names, contents):
    """Write the files of a kind, and return their paths."""
    if isinstance(names, str):
        names, contents = [names], [contents]
    paths = [folder / name for name in names]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return paths


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_is_read_right_or_refused_with_the_way_out(tmp_path, own_messages, kind):
    names, contents, columns, expected = KINDS[kind]
    paths = put(tmp_path, names, contents)

    def read():
        corpus = file_corpus(paths, columns=columns, tell=lambda text: None)
        return [tuple(pair) for pair in corpus.pairs("train")]

    if isinstance(expected, list):
        assert read() == expected
    else:
        with pytest.raises(CourseError, match=expected) as caught:
            read()
        assert len(str(caught.value).splitlines()) == 1
