"""What pyproject.toml cannot say: a wheel has the lessons inside the library."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PARTS = ("notebooks", "exercises", "docs")


class WithLessons(build_py):
    """Copy the lessons, exercises and pages beside the modules, except for an editable install."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            for part in PARTS:
                target = Path(self.build_lib, "course_lib", "course", part)
                shutil.copytree(part, target, dirs_exist_ok=True)


setup(cmdclass={"build_py": WithLessons})
