"""What docs/teaching.md tells a teacher to rehearse, typed as it stands there."""

import re
import shlex
import subprocess
import sys

import pytest

from tests.item_points import checked_items, checked_points
from tools import ROOT


@pytest.mark.slow
@pytest.mark.usefixtures("jail")  # skipped where there is none
def test_the_rehearsal_of_a_teacher_runs_from_its_first_line_to_its_last(tmp_path):
    text = (ROOT / "docs" / "teaching.md").read_text("utf-8")
    [lines] = re.findall(r"```sh\n( *mkdir .*?)```", text, re.DOTALL)
    course = f'course() {{ {shlex.quote(sys.executable)} -m course_lib "$@"; }}\n'
    for name in ("solutions", "exercises"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        ["sh", "-ec", course + lines], cwd=tmp_path, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert "The points are in rehearsal/points.csv" in done.stdout
    most = checked_points("06")
    flags = r"[1-9]"  # of the public solution: its numbers are those of everybody who copies it
    rows = rf"right +{most} of {most} +1 +{flags}\n *wrong +0 of {most}\b"
    assert re.search(rows, done.stdout), done.stdout
    points = (tmp_path / "rehearsal" / "points.csv").read_text("utf-8-sig")
    assert points.count("passed") == len(checked_items("06"))
