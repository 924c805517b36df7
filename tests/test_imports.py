import subprocess
import sys

import pytest

HEAVY = {"matplotlib", "seaborn", "ipywidgets", "tokenizers", "datasets", "sacrebleu", "pandas"}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["course_lib", "course_lib.model", "course_lib.data"])
def test_importing_a_package_loads_none_of_the_heavy_dependencies(module):
    code = f"import sys, {module}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY.isdisjoint(done.stdout.split())
