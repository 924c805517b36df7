import pytest

HEAVY = {"matplotlib", "seaborn", "ipywidgets", "tokenizers", "datasets", "sacrebleu", "pandas"}


@pytest.mark.smoke
@pytest.mark.slow
@pytest.mark.parametrize("module", ["course_lib", "course_lib.model", "course_lib.data"])
def test_importing_a_package_loads_none_of_the_heavy_dependencies(module, loaded):
    assert module in loaded[module]
    assert HEAVY.isdisjoint(loaded[module])


@pytest.mark.slow
def test_importing_the_plots_loads_neither_pandas_nor_the_scores(loaded):
    assert {"seaborn", "pandas", "sacrebleu", "tokenizers"}.isdisjoint(loaded["course_lib.viz"])
