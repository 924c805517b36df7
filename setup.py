"""What pyproject.toml cannot say: a wheel has the lessons inside the library, and the links of the
README on the package page are absolute.
"""

import json
import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PARTS = ("notebooks", "exercises", "solutions", "docs")
FOR_ASSISTANTS = ("AGENTS.md", "CLAUDE.md")


class WithLessons(build_py):
    """Copy lessons, exercises, solutions, pages and what assistants read beside the modules,
    except for an editable install.
    """

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            course = Path(self.build_lib, "course_lib", "course")
            for part in PARTS:
                shutil.copytree(part, course / part, dirs_exist_ok=True)
            for solution in (course / "solutions").rglob("*.ipynb"):
                _clear_outputs(solution)  # whoever opens one runs it
            for name in FOR_ASSISTANTS:
                shutil.copy(name, course)


def _clear_outputs(notebook: Path) -> None:
    content = json.loads(notebook.read_text("utf-8"))
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    notebook.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


def readme() -> str:
    """README.md with its links and pictures at the repository, as they are anywhere else."""
    home = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
    text = Path("README.md").read_text("utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{home}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^\]]*\]\()(?![a-z]+:|#)", rf"\1{home}/blob/main/", text)


setup(
    cmdclass={"build_py": WithLessons},
    long_description=readme(),
    long_description_content_type="text/markdown",
)
