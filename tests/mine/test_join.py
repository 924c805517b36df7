"""A Transformer of one's own parts equals the course's on its weights, and trains as it does."""

import pytest
import torch

from course_lib.errors import CourseError
from course_lib.mine.join import OwnStep, make_own_training, own_transformer
from course_lib.mine.parts import PARTS
from course_lib.mine.trial import try_part, try_parts
from course_lib.model import Transformer, preset
from course_lib.run_options import RunOptions
from course_lib.training import load_recipe, train
from course_lib.training.data.training_data import load_training_data
from tests.mine.conftest import sources_of_solutions


@pytest.fixture
def config():
    sizes = {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 2, "max_len": 64}
    return preset("small", norm="post", final_norm=False, source_vocab=30, target_vocab=40, **sizes)


@pytest.fixture
def tokens():
    torch.manual_seed(3)
    source, target = torch.randint(3, 30, (4, 7)), torch.randint(3, 40, (4, 6))
    source[1, 4:], target[2, 3:] = 0, 0
    return source, target


@pytest.mark.parametrize("own", ["all", "none", *(p.name for p in PARTS.values())])
def test_on_copied_weights_it_equals_the_courses(config, tokens, solved, own):
    parts = {"all": list(PARTS), "none": []}.get(own, [own])
    model = own_transformer(config, solved.with_own(parts))
    course = Transformer(config)
    course.load_state_dict(model.state_dict(), strict=False)
    torch.testing.assert_close(model(*tokens), course(*tokens))
    model.eval()
    assert not any(module.training for module in model.modules())


def test_pre_norm_which_no_exercise_asks_a_decoder_for_is_the_courses(config, tokens, solved):
    from dataclasses import replace

    model = own_transformer(replace(config, norm="pre", final_norm=True), solved)
    assert model(*tokens).shape == (4, 6, 40)


def test_a_step_is_the_courses_step(solved):
    recipe = load_recipe("mine")
    data = load_training_data(recipe_of(recipe))
    runs = [
        train(recipe_of(recipe), RunOptions(max_steps=4, scores=False), data=data, **more)
        for more in ({}, {"make_training": lambda model: same_start(model, solved)})
    ]
    assert runs[0].losses == pytest.approx(runs[1].losses, rel=1e-4)


def same_start(course, library):
    """The learner's training from the course's initial weights."""
    state = {name: value.clone() for name, value in course.state_dict().items()}
    training = make_own_training(course, library)
    course.load_state_dict(state)
    return training


def recipe_of(recipe):
    from dataclasses import replace

    model = recipe.model | {"d_model": 16, "d_ff": 32, "n_heads": 2, "n_layers": 1}
    return replace(recipe, train_size=300, valid_size=20, model=model, valid_every=3)


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_to_the_bit(tmp_path, solved):
    recipe = recipe_of(load_recipe("mine"))

    def own(model):
        return make_own_training(model, solved)

    def run(folder, **options):
        return train(
            recipe, RunOptions(scores=False, **options), folder=tmp_path / folder, make_training=own
        )

    whole = run("whole", max_steps=6)

    class StopError(Exception):
        pass

    def stop(run):
        if run.step == 3:
            raise StopError

    with pytest.raises(StopError):
        train(
            recipe,
            RunOptions(scores=False, max_steps=6),
            folder=tmp_path / "parts",
            make_training=own,
            on_step=stop,
        )
    resumed = run("parts", max_steps=6, resume=True)
    assert resumed.losses == whole.losses
    for a, b in zip(
        whole.translator.model.parameters(), resumed.translator.model.parameters(), strict=True
    ):
        assert torch.equal(a, b)


def changed(lesson, old, new):
    source = sources_of_solutions()[lesson]
    assert old in source
    return source.replace(old, new)


SCORES = "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))"
KEPT = "kept = getattr(MultiHeadAttention, 'kept', mask)\n        "
KEPT += "MultiHeadAttention.kept = mask = kept\n        context, _ ="
BROKEN = {
    "keeps the mask of the first batch": ("04", "context, _ =", KEPT, "MultiHeadAttention"),
    "no scale": ("04", " / math.sqrt(query.size(-1))", "", "MultiHeadAttention"),
    "raises": ("03", "return self.contract(", "return self.missing(", "FeedForward"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_part_that_is_wrong_in_a_model_is_found(solved_but, name):
    lesson, old, new, part = BROKEN[name]
    library = solved_but(**{f"lesson_{lesson}": changed(lesson, old, new)})
    finding = try_part(library.with_own([part]))
    assert finding is not None
    assert finding.sentence
    assert finding.slow == 0


@pytest.mark.slow
def test_a_slow_part_is_found_and_the_others_are_right(solved_but, monkeypatch):
    monkeypatch.setattr("course_lib.mine.trial.SIZES", ((2, 3, 3),))
    loop = "sum(range(8_000_000))\n        return self.contract("
    library = solved_but(lesson_03=changed("03", "return self.contract(", loop))
    found = dict(try_parts(library.with_own(["FeedForward", "padding_mask"])))
    assert found["FeedForward"].slow > 3
    assert "times as long" in found["FeedForward"].sentence
    assert found["padding_mask"] is None


def test_a_step_that_fails_is_told_and_the_weights_stay(config, solved_but):
    broken = changed("10", "return loss.item()", "return float('nan')")
    course = Transformer(config)
    step = OwnStep(course, solved_but(lesson_10=broken))
    optimizer = torch.optim.Adam(course.parameters())
    from course_lib.data import Batch

    batch = Batch(torch.randint(3, 30, (2, 4)), torch.randint(3, 40, (2, 5)))
    with pytest.raises(CourseError, match="expected a finite loss"):
        step(course, batch, optimizer, 0, lr=1e-3)


def test_a_part_with_other_parameters_is_refused(config, solved_but):
    library = solved_but(lesson_03=changed("03", "self.contract", "self.second"))
    with pytest.raises(CourseError, match="names and shapes"):
        own_transformer(config, library)


@pytest.mark.slow
def test_a_part_that_sets_the_seed_is_found(solved_but):
    source = changed(
        "03", "hidden = self.expand(x)", "torch.manual_seed(0)\n        hidden = self.expand(x)"
    )
    finding = try_part(solved_but(lesson_03=source).with_own(["FeedForward"]))
    assert finding is not None and "sets the seed" in finding.sentence


BARE = """

class Bare(Transformer):
    def __init__(self, config):
        super().__init__(config)
        del self.config

Transformer = Bare
"""


def test_a_transformer_that_keeps_no_config_translates(config, tokens, solved_but):
    source = sources_of_solutions()["08"] + BARE
    model = own_transformer(config, solved_but(lesson_08=source))
    assert model.config is config and model(*tokens).shape == (4, 6, 40)
