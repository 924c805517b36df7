"""Numbers that are quoted stand in the page that a command wrote."""

import re
from pathlib import Path

import pytest

from tests.bench.faults import faults

ROOT = Path(__file__).resolve().parents[1]


def test_the_readme_quotes_the_benchmarks():
    readme = (ROOT / "README.md").read_text("utf-8")
    benchmarks = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    quoted = re.findall(r"([\d.,]*\d) ×", readme)
    assert len(quoted) == 3
    for number in quoted:
        assert f"{number} (" in benchmarks, number


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.name)
def test_the_page_of_faults_says_what_the_command_would(fault):
    page = (ROOT / "docs" / "faults.md").read_text("utf-8")
    assert f". **{fault.name}**: {fault.says}." in page
    assert f". {fault.name} | mended |" in page
