import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from course_lib.viz.web.runs_page import PAGE, POINTS, runs_page, thin

HOSTILE = '</script><img src=x onerror="alert(1)"><!--data-->&$'


class Reader(HTMLParser):
    """Tags, attributes and the text of cells, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.cells, self.cell = [], [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag in ("td", "th", "h1"):
            self.cells.append("")
            self.cell = tag

    def handle_endtag(self, tag):
        if tag == self.cell:
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.cells[-1] += data


def data_of(page):
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(data)


def test_the_page_holds_every_curve_with_steps_and_minutes(make_run):
    data = data_of(runs_page([make_run()]))
    assert data["runs"] == ["first"]
    assert [panel["key"] for panel in data["panels"]] == [
        "loss",
        "valid_accuracy_teacher_forced",
        "valid_exact",
        "valid_bleu",
        "rate",
    ]
    [bleu] = [curve for curve in data["curves"] if curve["panel"] == "valid_bleu"]
    assert bleu["steps"] == [10, 20, 30, 40]
    assert bleu["minutes"] == [2.5, 5, 7.5, 10]
    assert bleu["values"] == [20, 40, 60, 80]


def test_the_table_has_a_row_for_each_validation(make_run):
    cells = Reader(runs_page([make_run()])).cells
    assert cells[0] == "first"
    assert cells[1:9] == [
        "step",
        "minutes",
        "learning rate",
        "training loss",
        "validation loss",
        "teacher-forced accuracy",
        "exact match, autoregressive",
        "BLEU, autoregressive",
    ]
    assert cells[9:17] == ["10", "2.5", "0.00025", "6.0818", "6.5818", "20.0%", "0.0%", "20.0"]
    assert len(cells) == 9 + 4 * 8


def test_before_the_first_validation_the_table_has_the_last_step(make_run):
    cells = Reader(runs_page([make_run(epochs=[])])).cells
    assert cells[9:] == ["40", "10.0", "0.001", "2.4389", "–", "–", "–", "–"]


def test_without_rates_their_column_is_empty(make_run):
    cells = Reader(runs_page([make_run(losses=[], learning_rates=[])])).cells
    assert cells[9:12] == ["10", "2.5", "–"]


def test_compared_runs_are_named_in_title_list_and_rows(make_run):
    page = runs_page([make_run("a", 10), make_run("b", 10)])
    cells = Reader(page).cells
    assert cells[:2] == ["2 training runs compared", "run"]
    assert [cells[10], cells[19]] == ["a", "b"]
    assert "<li><b>a</b>: recipe toy, seed 0: 10 steps</li>" in page


def test_runs_whose_names_look_alike_are_numbered_in_list_and_rows(make_run):
    page = runs_page([make_run("a", 10), make_run("a", 10)])
    assert data_of(page)["runs"] == ["a", "a (2)"]
    assert "a (2)" in Reader(page).cells and "<li><b>a (2)</b>: " in page


def test_a_hostile_name_stays_text(make_run):
    harmless = Reader(runs_page([make_run("a"), make_run("b")]))
    histories = [make_run(HOSTILE, summary=HOSTILE), make_run("b", summary=HOSTILE)]
    page = runs_page(histories)
    assert Reader(page).tags == harmless.tags
    assert HOSTILE in Reader(page).cells
    assert data_of(page)["runs"] == [HOSTILE, "b"]
    assert page.encode("utf-8")


def test_a_name_that_is_not_unicode_can_be_written(make_run):
    assert runs_page([make_run("caf\udce9\u202e")]).encode("utf-8")


def test_the_page_asks_for_nothing_from_anywhere(make_run):
    page = runs_page([make_run()])
    reader = Reader(page)
    assert "default-src 'none'" in page
    assert [value for name, value in reader.attributes if name in ("src", "href")] == ["data:,"]
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"@import|url\(|fetch\(|innerHTML", page)


def test_every_mark_of_the_template_is_replaced(make_run):
    assert "<!--" in PAGE.read_text("utf-8")
    assert "<!--" not in runs_page([make_run()])


def test_numbers_that_are_none_leave_a_gap(make_run):
    history = make_run()
    history.epochs[1]["valid_loss"] = math.nan
    curves = data_of(runs_page([history]))["curves"]
    [validation] = [c for c in curves if (c["panel"], c["kind"]) == ("loss", "validation")]
    assert validation["values"][1] is None
    assert None not in validation["values"][2:]


def test_a_long_curve_is_thinned_and_keeps_its_ends_and_its_peak(make_run):
    losses = [1.0 + i % 2 / 10 for i in range(50_000)]
    losses[33_333] = 99.0
    minutes = [i / 1000 for i in range(50_000)]
    history = make_run(losses=losses, learning_rates=[], epochs=[], minutes=minutes)
    each = data_of(runs_page([history]))["curves"][0]
    assert len(each["steps"]) <= POINTS + 2
    assert (each["steps"][0], each["steps"][-1]) == (1, 50_000)
    assert each["values"][each["steps"].index(33_334)] == 99


@pytest.mark.parametrize("length", [1, 9, 10, 11, 1000])
def test_thinning_gives_indices_in_order(length):
    kept = thin(np.random.default_rng(0).normal(size=length), count=10)
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, length - 1)
    assert len(kept) <= 12
