from pathlib import Path

import pytest

from course_lib.checks.progress import progress_file
from course_lib.data import cache_folder
from course_lib.errors import CourseError
from course_lib.home import expanded


def test_a_tilde_is_the_home_folder():
    assert expanded("~/mine", "X") == Path.home() / "mine"
    assert expanded("mine", "X") == Path("mine")


@pytest.mark.parametrize(
    ("function", "variable"), [(cache_folder, "COURSE_CACHE"), (progress_file, "COURSE_PROGRESS")]
)
def test_without_a_home_folder_the_message_says_what_to_set(monkeypatch, function, variable):
    def homeless(path):
        raise RuntimeError("Could not determine home directory.")

    for name in (variable, "XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(CourseError, match=f"found none .* set HOME, or {variable} to a folder"):
        function()
