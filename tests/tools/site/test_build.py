"""Parts of the site, built: what Sphinx writes is what a reader needs."""

import json
import os
import re

import pytest

if not os.environ.get("CI"):  # where nothing may be missing
    pytest.importorskip("sphinx", reason="the site needs Sphinx: pip install -e '.[site]'")

from PIL import Image

from course_lib.training import load_translator
from course_lib.viz.web.translator_texts import TEXTS
from tools.site import ROOT
from tools.site.__main__ import main
from tools.site.build import SiteError, build
from tools.site.front import CHIPS, MODELS, PAGES, SENTENCE
from tools.site.llms import FILE
from tools.site.meta_tags import DESCRIPTION, PREVIEW, PREVIEW_SIZE, site_address
from tools.site.notebook_parser import inline_nodes, parts_of
from tools.site.sources import Chapter, chapters, write_sources


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    assert main(["--output", str(folder), "--only", "README", "00_", "12_", "glossary", "map"]) == 0
    return folder


def read(path):
    return path.read_text("utf-8")


pytestmark = pytest.mark.slow


def test_a_lesson_keeps_its_figures_alive_and_asks_no_server(site):
    page = read(site / "notebooks" / "00_start_here.html")
    for kept in ('data-live="', "<svg", 'class="folded"', 'class="course-fold"', "cards.css"):
        assert kept in page, kept
    assert ".course-fold" in read(site / "_static" / "cards.css")
    assert "<math" in read(site / "notebooks" / "12_honest_numbers.html")
    assert not re.search(r"""<(script|link|img)[^>]*(src|href)=["']https?:""", page)
    assert len(page) < 2_000_000


def test_questions_of_a_lesson_are_sections_in_the_contents(site):
    page = read(site / "notebooks" / "00_start_here.html")
    assert '<section id="Q0a.-What-will-you-build?">' in page
    assert '<a class="reference internal" href="#Q0a.-What-will-you-build?">' in page


@pytest.mark.smoke
def test_links_lead_to_pages_of_the_site_and_else_to_the_repository(site):
    page = read(site / "docs" / "map.html")
    assert 'href="../notebooks/00_start_here.html"' in page
    assert "/blob/main/notebooks/04_attention_matmul.ipynb" in page
    assert 'class="lesson-map"' in page


def test_the_search_knows_sections_of_lessons_terms_of_the_glossary_and_how_each_counts(site):
    script = read(site / "_static" / "search_sections.js")
    sections = json.loads(script.removeprefix("searchSections="))
    assert [section["id"] for section in sections] == [*range(len(sections))]
    found = {section["url"]: section for section in sections}
    question = found["notebooks/00_start_here.html#Q0a.-What-will-you-build?"]
    assert (question["heading"], question["page"]) == (
        "Q0a. What will you build?",
        "00 · Start here",
    )
    term = found["docs/glossary.html#ablation"]
    assert (term["heading"], term["kind"]) == ("ablation", "glossary")
    assert term["text"].startswith("ablation (knocking out")
    assert question["weight"] > term["weight"] > found["docs/map.html#other-ways-through"]["weight"]
    tags = re.compile(r"</(?!s>)")  # </s> is a token that the glossary names
    assert [section["url"] for section in sections if tags.search(section["text"])] == []


def test_the_first_page_has_its_model_beside_it(site):
    page = read(site / "index.html")
    assert "_static/translator_model.js" in page
    assert not re.search("<!--[a-z]+-->", page)
    assert read(site / "_static" / "translator_model.js").startswith('loadTranslator("')
    for model, address in PAGES.items():
        assert TEXTS[model].asked in read(site / address)
        assert f'href="{address}"' in page + read(site / PAGES[MODELS[0]])


def test_the_first_page_has_one_way_in_and_lists_each_lesson_once(site):
    page = read(site / "index.html")
    assert re.findall('class="primary" href="([^"]*)"', page) == ["notebooks/00_start_here.html"]
    listed = re.findall(r'<li><span class="soft">(\d\d)</span> <a href="([^"]*)"', page)
    assert [number for number, _ in listed] == [f"{i:02}" for i in range(19)]
    assert listed[0][1] == "notebooks/00_start_here.html"
    assert listed[4][1].endswith("/blob/main/notebooks/04_attention_matmul.ipynb")  # not built


def test_the_first_page_shows_a_film_a_named_error_and_the_live_model(site):
    page = read(site / "index.html")
    for shown in ('class="dw dw-figure dw-film', "You mask the rows of the padding", "data-part="):
        assert shown in page, shown
    assert "def padding_mask(tokens, pad_id):" in re.sub("<[^>]*>", "", page)


def test_every_page_says_what_it_is_to_whoever_is_sent_its_link(site):
    for path in site.rglob("*.html"):
        page = read(path)
        for tag in ('name="description"', 'property="og:title"', 'property="og:image"'):
            assert page.count(tag) == 1, (path, tag)
    lesson = read(site / "notebooks" / "12_honest_numbers.html")
    assert '<meta property="og:title" content="12 · Honest numbers">' in lesson
    assert 'content="How to tell an honest score from a flattering one: BLEU' in lesson


def test_an_assistant_finds_each_page_of_the_site_and_the_rule_of_tutoring(site):
    title, summary, rule, *sections = read(site / FILE).strip().split("\n\n")
    assert title == "# The Transformer, Question by Question"
    assert summary == f"> {DESCRIPTION}"
    assert "Never write an answer" in rule and rule.count(". ") == 1
    names = [line.removeprefix("## ") for line in sections[::2]]
    assert names == ["Find your way", "Lessons", "Exercises"]
    links = [re.fullmatch(r"- \[(.+)\]\((.+)\): (.+)", line) for line in sections_of(sections)]
    pages = [site / link[2].removeprefix(site_address()) for link in links]
    assert all(page.is_file() for page in pages)
    found = {*site.glob("*/*.html"), *site.glob("*/*/*.html"), site / "README.html"}
    assert {*pages} == {page for page in found if "_" not in page.relative_to(site).parts[0]}
    described = {link[1]: link[3] for link in links}
    assert described["12 · Honest numbers"].startswith("How to tell an honest score")
    assert DESCRIPTION not in described.values()


def sections_of(blocks):
    return [line for block in blocks[1::2] for line in block.splitlines()]


def test_the_preview_has_the_size_that_its_tags_name(site):
    with Image.open(site / PREVIEW) as image:
        assert image.size == PREVIEW_SIZE
    assert (site / PREVIEW).stat().st_size < 60_000


def test_what_the_first_page_offers_is_translated_right():
    translator = load_translator(model=MODELS[0])
    right = dict(TEXTS[MODELS[0]].sentences)
    for german in (SENTENCE, *CHIPS):
        assert translator.translate(german).text == right[german]


def test_a_page_with_a_broken_link_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\n[nowhere](#nowhere)\n")
    monkeypatch.setattr("tools.site.sources.ROOT", tmp_path)
    with pytest.raises(SiteError, match="a.html: there is no nowhere"):
        build(tmp_path / "out", [Chapter("C", ("docs/a",))])


def test_a_folder_with_other_files_is_refused_before_anything_is_built(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("tools.site.__main__.build", None)
    (tmp_path / "work").write_text("mine")
    with pytest.raises(SystemExit, match="2"):
        main(["--output", str(tmp_path)])
    assert f"got {tmp_path}, which is none of these (it has no se" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["--output", str(tmp_path / "work")])
    assert (tmp_path / "work").read_text() == "mine"


def test_of_an_earlier_site_nothing_is_left(tmp_path, monkeypatch):
    def build_one_page(output, _chosen):
        assert not output.exists()
        (output / "docs").mkdir(parents=True)
        (output / "docs" / "new.html").touch()
        return 1

    monkeypatch.setattr("tools.site.__main__.build", build_one_page)
    (tmp_path / "searchindex.js").touch()
    (tmp_path / "old.html").touch()
    assert main(["--output", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]


def test_a_choice_of_no_page_is_refused_with_the_pages_that_there_are(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr("tools.site.__main__.build", None)
    (tmp_path / "searchindex.js").touch()
    with pytest.raises(SystemExit, match="2"):
        main(["--output", str(tmp_path), "--only", "nowhere", "nothing"])
    error = capsys.readouterr().err
    assert "got --only nowhere nothing, which are in none: choose among README, docs/map" in error
    assert (tmp_path / "searchindex.js").exists()


def test_every_page_of_docs_and_every_notebook_is_in_the_navigation():
    pages = [page for chapter in chapters() for page in chapter.pages]
    assert len(pages) == len({*pages})
    files = [*ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    files += ROOT.glob("exercises/*/*.ipynb")
    expected = {file.relative_to(ROOT).with_suffix("").as_posix() for file in files}
    assert expected <= {*pages}


def test_pages_of_long_runs_are_in_the_site_if_they_are_there(tmp_path, monkeypatch):
    written = tmp_path / "evidence"
    written.mkdir()
    (written / "other_seeds.md").write_text("# What holds with other seeds\n")
    (written / "misconception_matrix.svg").write_text("<svg/>")
    monkeypatch.setattr("tools.site.sources.FULL", written)
    [measured] = (each for each in chapters() if "docs/evidence" in each.pages)
    assert "docs/other_seeds" in measured.pages and "docs/mutation_testing" not in measured.pages
    (tmp_path / "sources").mkdir()
    write_sources(tmp_path / "sources", [measured])
    page = read(tmp_path / "sources" / "docs" / "evidence.md")
    assert "[other_seeds](other_seeds.md)" in page and "`evidence/mutation_testing.md`" in page
    for name in ("other_seeds.md", "misconception_matrix.svg", "benchmarks_training.svg"):
        assert (tmp_path / "sources" / "docs" / name).is_file()


def test_parts_begin_at_headings_but_not_inside_folded_text():
    page = (
        '<!--cell--><h1 id="A">A</h1>\n<p>x</p>'
        '<!--cell--><details><h2 id="B">B</h2></details>\n<h2 id="C">C</h2><!--cell-->code'
    )
    found = [(heading and heading[2], body.strip()) for heading, body in parts_of(page)]
    assert found == [
        (None, ""),
        ("A", "<p>x</p>"),
        (None, '<details><h2 id="B">B</h2></details>'),
        ("C", ""),
        (None, "code"),
    ]


def test_a_heading_may_have_code():
    words, code, rest = inline_nodes("The <em>odds</em> of <code>&lt;eos&gt;</code> here")
    assert (words.astext(), code.astext(), rest.astext()) == ("The odds of ", "<eos>", " here")
    assert code.tagname == "literal"
