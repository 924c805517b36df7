import pytest

from course_lib.cli import main
from course_lib.errors import CourseError
from course_lib.training import RECIPES, load_recipe, read_checkpoint
from course_lib.training.recipe_settings import format_setting, list_settings, with_settings

SMALL = load_recipe("small")


@pytest.mark.parametrize(
    ("setting", "name", "value"),
    [
        ("lr=1e-3", "lr", 1e-3),
        ("epochs=3", "epochs", 3),
        ("betas=0.9,0.95", "betas", (0.9, 0.95)),
        ("betas=(0.9, 0.95)", "betas", (0.9, 0.95)),
        ("dropout=", "dropout", ()),
        ("dropout=0.1", "dropout", (0.1,)),
        ("max_grad_norm=none", "max_grad_norm", None),
        ("shared_vocabulary=True", "shared_vocabulary", True),
        ("optimizer=sgd", "optimizer", "sgd"),
        (" corpus = two_sentences ", "corpus", "two_sentences"),
        (
            "bugs=scores_by_width,dropout_after_norm",
            "bugs",
            ("scores_by_width", "dropout_after_norm"),
        ),
    ],
)
def test_a_field_of_the_recipe_is_read_by_its_type(setting, name, value):
    assert getattr(with_settings(SMALL, [setting]), name) == value


def test_fields_of_the_model_and_the_decoding_are_changed_beside_those_of_the_recipe():
    changed = with_settings(
        load_recipe("multi30k"),
        ["model.d_model=64", "model.norm=post", "decoding.method=beam", "decoding.width=2"],
    )
    assert changed.model["d_model"] == 64 and changed.model["norm"] == "post"
    assert changed.model["d_ff"] == 768  # the recipe's own
    assert (changed.decoding.method, changed.decoding.width) == ("beam", 2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("lr", "expected NAME=VALUE, as in lr=1e-3, got 'lr'"),
        ("=3", "expected NAME=VALUE"),
        ("learning_rat=1", "expected a field of the recipe.*got 'learning_rat'"),
        ("epoch=1", "did you mean epochs[?]"),
        ("model.d_modell=64", "did you mean model.d_model[?]"),
        ("data.size=64", "got 'data.size'"),
        ("model.pad_id=3", "comes from the vocabularies of the data"),
        ("lr=fast", "lr must be a number or none, got 'fast'"),
        ("epochs=1.5", "epochs must be a whole number, got '1.5'"),
        ("shared_vocabulary=1", "shared_vocabulary must be true or false, got '1'"),
        ("optimizer=lion", "optimizer must be one of sgd, adam, adamw, got 'lion'"),
        ("betas=0.9", "betas must be 2 numbers with commas between, got '0.9'"),
        ("betas=0.9,1.5", "betas must lie in .0, 1., got"),
        ("lr=nan", "lr must be finite and not negative, got nan"),
        ("lr=-1", "lr must be finite and not negative, got -1"),
        ("max_grad_norm=-1", "max_grad_norm must be finite and not negative"),
        ("epochs=0", "epochs must be at least 1, got 0"),
        ("bugs=typo", "bugs must be among positions_without_width"),
        ("model.d_model=30", "d_model must be a multiple of n_heads, got d_model=30"),
        ("model.norm=none", "model.norm must be one of post, pre, got 'none'"),
        ("decoding.top_k=5", "top_k is an option of the method 'sample'"),
        ("preset=tiny", "preset must be one of small"),
    ],
)
def test_what_cannot_be_set_is_refused_with_the_reason(setting, message):
    with pytest.raises(CourseError, match=message):
        with_settings(SMALL, [setting])


@pytest.mark.parametrize("name", RECIPES)
def test_every_listed_field_can_be_set_to_what_it_is(name):
    recipe = RECIPES[name]
    settings = [f"{field}={format_setting(value)}" for field, value in list_settings(recipe)]
    again = with_settings(recipe, settings)
    assert dict(list_settings(again)) == dict(list_settings(recipe))


@pytest.mark.slow
def test_set_reaches_the_run_and_a_resumed_run_must_have_the_same(at_home, capsys):
    settings = ["--set", "lr=1e-3", "--set", "model.d_ff=8"]
    assert main(["train", "toy", *settings, "--max-steps", "2", "--out", "run"]) == 0
    _, info, _ = read_checkpoint(at_home / "run" / "last.safetensors")
    assert info["recipe"]["lr"] == 1e-3 and info["recipe"]["model"]["d_ff"] == 8
    assert main(["train", "toy", "--max-steps", "2", "--out", "run", "--resume"]) == 1
    assert "expected to go on with model = " in capsys.readouterr().err


def test_the_command_lists_recipes_corpora_and_fields(capsys):
    assert main(["recipes"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in (*RECIPES, "grammar_de_en", "multi30k"))
    assert main(["recipes", "small"]) == 0
    out = capsys.readouterr().out
    assert "  lr                              0.003\n" in out
    assert "  model.d_model                   128\n" in out
    assert main(["recipes", "tiny"]) == 1


def test_a_setting_that_is_refused_is_told_in_one_line(at_home, capsys):
    assert main(["train", "toy", "--set", "model.d_modell=64"]) == 1
    err = capsys.readouterr().err
    assert "did you mean model.d_model?" in err and err.count("\n") == 1
