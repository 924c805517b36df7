"""Parts of messages: the command that installs."""

import sys
from types import SimpleNamespace

import pytest

from course_lib import wording
from course_lib.wording import pip_install


@pytest.mark.parametrize(
    ("python", "found", "system", "command"),
    [
        ("/venv/bin/python", "/venv/bin/python", "posix", "python -m pip install"),
        ("/venv/bin/python", "/usr/bin/python", "posix", "/venv/bin/python -m pip install"),
        ("/my venv/python", None, "posix", '"/my venv/python" -m pip install'),
        (r"C:\My venv\python.exe", None, "nt", r'& "C:\My venv\python.exe" -m pip install'),
        (r"C:\venv\python.exe", None, "nt", r"C:\venv\python.exe -m pip install"),
        (None, None, "posix", "python -m pip install"),
    ],
)
def test_the_command_that_installs_works_in_the_shell(monkeypatch, python, found, system, command):
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setattr(wording, "shutil", SimpleNamespace(which=lambda name: found))
    monkeypatch.setattr(wording, "os", SimpleNamespace(name=system))
    assert pip_install("torch").startswith(f"{command} ")
