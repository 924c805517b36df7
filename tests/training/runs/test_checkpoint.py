import errno
import json
import math
import os
import random
import shutil
import stat
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from course_lib.data import BOS, EOS, PAD, UNK, Vocabulary
from course_lib.errors import CourseError
from course_lib.model import MultiHeadAttention, Transformer, attention_einsum
from course_lib.training import (
    RunOptions,
    load_training_data,
    load_translator,
    read_checkpoint,
    save_checkpoint,
    train,
)
from course_lib.training.recipes import Recipe
from course_lib.training.runs import checkpoint, run_folder
from course_lib.training.runs.checkpoint import read_info, read_tokenizers
from tests.training.test_loop import interrupt_at


@pytest.fixture
def translator(toy):
    return load_training_data(toy).new_translator(toy)


def test_the_course_comes_with_a_translator():
    translator, _, _ = read_checkpoint(checkpoint.PRETRAINED["small"])
    assert str(translator.translate("Die müde Köchin schläft.")) == "the tired cook sleeps."


@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_saving_and_reading_a_checkpoint_draw_no_random_numbers(toy, tmp_path, positions):
    recipe = replace(toy, model={**toy.model, "positions": positions})
    translator = load_training_data(recipe).new_translator(recipe)
    before = torch.get_rng_state()
    save_checkpoint(tmp_path / "m.safetensors", translator)
    assert torch.equal(torch.get_rng_state(), before)
    read_checkpoint(tmp_path / "m.safetensors")
    assert torch.equal(torch.get_rng_state(), before)


def test_what_changes_no_weight_does_not_keep_a_model_from_being_saved(translator, tmp_path):
    expected, path = translator.translate("a b"), tmp_path / "m.safetensors"
    translator.model.output.register_forward_hook(lambda *_: None)  # it only watches
    translator.model.__class__ = type("WithAMethod", (Transformer,), {"greet": print})
    for module in translator.model.modules():
        if isinstance(module, MultiHeadAttention):
            module.attention = attention_einsum
    save_checkpoint(path, translator)
    assert load_translator(path).translate("a b") == expected


def test_a_checkpoint_gives_back_weights_words_and_information(translator, tmp_path):
    path = tmp_path / "new" / "folder" / "model.safetensors"
    save_checkpoint(path, translator, info={"step": 3}, extra={"rng": torch.arange(3)})
    loaded, info, extra = read_checkpoint(path)
    for name, value in translator.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], value)
    assert loaded.model.config == translator.model.config
    assert loaded.source_vocabulary.tokens == translator.source_vocabulary.tokens
    assert info == {"step": 3} and extra["rng"].tolist() == [0, 1, 2]
    assert not loaded.model.training


@pytest.mark.parametrize("tying", ["output", "none"])
def test_a_tied_table_is_stored_once_and_tied_again(toy, tying, tmp_path):
    recipe = replace(toy, model={**toy.model, "tying": tying})
    saved = load_training_data(recipe).new_translator(recipe)
    save_checkpoint(tmp_path / "m.safetensors", saved)
    model = load_translator(tmp_path / "m.safetensors").model
    is_tied = model.output.weight is model.target_embedding.tokens.weight
    assert is_tied == (tying == "output")
    assert torch.equal(model.output.weight, saved.model.output.weight)


def test_half_precision_halves_the_file(toy, tmp_path):
    recipe = replace(toy, model={**toy.model, "d_model": 64})
    translator = load_training_data(recipe).new_translator(recipe)
    save_checkpoint(tmp_path / "full.safetensors", translator)
    save_checkpoint(tmp_path / "half.safetensors", translator, bits=16)
    sizes = [(tmp_path / f"{n}.safetensors").stat().st_size for n in ("full", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    weight = load_translator(tmp_path / "half.safetensors").model.output.weight
    assert weight.dtype == torch.float32


def test_eight_bits_are_half_of_sixteen_and_are_read_as_32_bit_numbers(toy, tmp_path):
    recipe = replace(toy, model={**toy.model, "d_model": 64, "tying": "output"})
    translator = load_training_data(recipe).new_translator(recipe)
    path = tmp_path / "m.safetensors"
    save_checkpoint(tmp_path / "half.safetensors", translator, bits=16)
    save_checkpoint(path, translator, bits=8)
    assert path.stat().st_size < 0.6 * (tmp_path / "half.safetensors").stat().st_size
    tensors, _ = contents(path)
    name = "target_embedding.tokens.weight"
    assert tensors[f"model.{name}"].dtype == torch.int8
    assert tensors[f"scale.{name}"].dtype == torch.float32
    model = load_translator(path).model
    assert all(each.dtype == torch.float32 for each in model.parameters())
    expected = tensors[f"model.{name}"].float() * tensors[f"scale.{name}"][:, None]
    assert torch.equal(model.get_parameter(name), expected)
    assert model.output.weight is model.target_embedding.tokens.weight


def test_a_checkpoint_in_eight_bits_saved_again_has_the_same_whole_numbers(translator, tmp_path):
    first, second = tmp_path / "1.safetensors", tmp_path / "2.safetensors"
    save_checkpoint(first, translator, bits=8)
    save_checkpoint(second, load_translator(first), bits=8)
    before, after = contents(first)[0], contents(second)[0]
    assert before.keys() == after.keys()
    for name, value in before.items():
        if not name.startswith("scale."):
            assert torch.equal(after[name], value)


@pytest.mark.parametrize("change", ["no scale", "one scale too few", "a scale that is not finite"])
def test_eight_bits_without_all_their_scales_are_refused(translator, tmp_path, change):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator, bits=8)
    tensors, description = contents(path)
    scale = tensors.pop("scale.output.weight")
    if change != "no scale":
        tensors["scale.output.weight"] = scale[1:] if "few" in change else scale * math.inf
    write(path, tensors, description)
    message = "output.weight (should be 8-bit|has entries that are not finite)"
    with pytest.raises(CourseError, match=message):
        load_translator(path)


def test_a_checkpoint_gives_back_what_a_translator_knows_of_its_languages(translator, tmp_path):
    path, size = tmp_path / "m.safetensors", len(translator.source_vocabulary)
    save_checkpoint(path, translator, extra={"rng": torch.arange(3)})
    loaded, _, extra = read_checkpoint(path)
    assert loaded.language_evidence is None and loaded.known_characters == ""
    translator.language_evidence, translator.known_characters = torch.randn(size), "aß😀"
    save_checkpoint(path, translator, extra={"rng": torch.arange(3)}, bits=8)
    loaded, _, extra = read_checkpoint(path)
    assert torch.equal(loaded.language_evidence, translator.language_evidence)
    assert loaded.known_characters == "aß😀"
    assert extra.keys() == {"rng"}


def test_evidence_of_another_vocabulary_is_refused(translator, tmp_path):
    path = tmp_path / "m.safetensors"
    translator.language_evidence = torch.zeros(len(translator.source_vocabulary))
    save_checkpoint(path, translator)
    tensors, description = contents(path)
    write(path, tensors | {"extra.language_evidence": torch.zeros(3)}, description)
    with pytest.raises(CourseError, match="expected language_evidence of shape"):
        load_translator(path)


def test_a_folder_is_read_through_its_best_checkpoint(translator, tmp_path):
    save_checkpoint(tmp_path / "best.safetensors", translator)
    assert load_translator(tmp_path).target_vocabulary.tokens == translator.target_vocabulary.tokens


def test_a_missing_checkpoint_is_named(tmp_path):
    with pytest.raises(CourseError, match="expected a checkpoint at .*nothing: train one first"):
        load_translator(tmp_path / "none.safetensors")


@pytest.mark.parametrize("keep", [0, 4, 100, 0.5, 0.99])
def test_a_truncated_checkpoint_is_recognised(translator, tmp_path, keep):
    path = tmp_path / "best.safetensors"
    save_checkpoint(path, translator)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(int(keep * size) if isinstance(keep, float) else keep)
    with pytest.raises(CourseError, match="whole checkpoint of the course.*was it cut off"):
        load_translator(path)


def test_a_safetensors_file_of_someone_else_is_refused(tmp_path):
    path = tmp_path / "other.safetensors"
    save_file({"x": torch.zeros(2)}, path)
    with pytest.raises(CourseError, match="expected a whole checkpoint of the course"):
        load_translator(path)


def write(path, tensors, description):
    """A checkpoint by somebody who forges the checksum, too."""
    text = json.dumps(description)
    metadata = {"course": text, "crc32": str(checkpoint._checksum(text, tensors))}
    save_file(tensors, path, metadata=metadata)


def contents(path):
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["course"])


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(translator, tmp_path):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator, info={"seed": 1})
    whole, draw = path.read_bytes(), random.Random(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    before = contents(path)
    for lowest, highest, count in ((0, header, 100), (header, len(whole), 200)):
        for _ in range(count):
            flipped = bytearray(whole)
            flipped[draw.randrange(lowest, highest)] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            try:
                read_checkpoint(path)
            except CourseError as error:
                renamed = "which this version does not know" in str(error)  # a field of the model
                assert renamed or "expected a whole checkpoint" in str(error)
            else:  # such as a blank of the header that became a line end
                assert lowest == 0
                tensors, description = contents(path)
                assert description == before[1] and tensors.keys() == before[0].keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_layers": 10**9}, "its model should have .* numbers, not"),
        ({"d_model": 20_000}, "its model should have"),
        ({"d_ff": 10**7}, "its model should have"),
        ({"max_len": 10**9}, "max_len 1000000000 needs more than"),
        ({"n_layers": "two"}, "expected a whole checkpoint"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_sizes_that_are_not_the_files_are_refused_before_memory_is_taken(
    translator, tmp_path, change, message
):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator)
    tensors, description = contents(path)
    description["config"] |= change
    write(path, tensors, description)
    with pytest.raises(CourseError, match=message):
        load_translator(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.reshape(-1, 1), r"output.weight should be \(\d+, \d+\) real numbers"),
        (lambda x: x.long(), "output.weight should be"),
        (lambda x: x / 0, "output.weight has entries that are not finite"),
        (lambda x: x[:1], "its model should have"),
    ],
)
def test_a_tensor_that_the_model_cannot_have_is_refused(translator, tmp_path, change, message):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator)
    tensors, description = contents(path)
    tensors["model.output.weight"] = change(tensors["model.output.weight"]).contiguous()
    write(path, tensors, description)
    with pytest.raises(CourseError, match=message):
        load_translator(path)


@pytest.mark.parametrize("description", [[], None, {"config": []}, {"config": {}}, "[" * 10**5])
def test_valid_json_with_other_contents_is_refused_by_name(tmp_path, description):
    path = tmp_path / "m.safetensors"
    text = description if isinstance(description, str) else json.dumps(description)
    save_file({"model.x": torch.zeros(1)}, path, metadata={"course": text, "crc32": "0"})
    with pytest.raises(CourseError, match="expected a whole checkpoint of the course at"):
        load_translator(path)


@pytest.mark.parametrize(
    "path", [checkpoint.PRETRAINED["small"], *checkpoint.EARLY], ids=lambda p: p.stem
)
def test_the_courses_own_models_are_stored_as_they_would_be_saved_today(path, tmp_path):
    translator, info, _ = read_checkpoint(path)
    assert info["recipe"].keys() <= {field.name for field in fields(Recipe)}
    assert translator.target_vocabulary.tokens[:4] == [PAD, BOS, EOS, UNK]
    save_checkpoint(tmp_path / "again", translator, info=info, bits=16)
    with safe_open(path, "pt") as stored, safe_open(tmp_path / "again", "pt") as again:
        assert stored.metadata() == again.metadata()
        assert set(stored.keys()) == set(again.keys())
        for name in stored.keys():  # noqa: SIM118
            assert torch.equal(stored.get_tensor(name), again.get_tensor(name))


@pytest.mark.parametrize(
    ("part", "dropped", "found"),
    [
        (None, "crc32", "one without a checksum"),
        ("recipe", None, "a recipe with peak, which this version does not know"),
        ("config", None, "a model with peak, which this version does not know"),
    ],
)
@pytest.mark.parametrize("read", [read_checkpoint, read_info, read_tokenizers])
def test_a_checkpoint_of_another_version_is_refused_with_the_field_that_is_unknown(
    translator, tmp_path, part, dropped, found, read
):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator, info={"recipe": {}})
    with safe_open(path, "pt") as file:
        metadata = {name: text for name, text in file.metadata().items() if name != dropped}
    description = json.loads(metadata["course"])
    if part is not None:
        (description["info"] | description)[part]["peak"] = 0.1
    metadata["course"] = json.dumps(description)
    save_file(load_file(path), path, metadata=metadata)
    with pytest.raises(CourseError) as refused:
        read(path)
    assert str(refused.value) == (
        f"expected at {path} a checkpoint as this version of the course writes it, got {found}: "
        "does it come from another version, or is it damaged? Use it with the version that wrote "
        "it, or train it again"
    )


def test_a_checkpoint_with_a_tensor_too_many_is_refused(translator, tmp_path):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator)
    tensors, description = contents(path)
    write(path, tensors | {"model.stray": torch.zeros(0)}, description)
    with pytest.raises(CourseError, match="stray is no parameter"):
        load_translator(path)


@pytest.mark.parametrize("info", [[], None, "", 0])
def test_info_that_is_no_mapping_is_refused(translator, tmp_path, info):
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator)
    tensors, description = contents(path)
    write(path, tensors, description | {"info": info})
    with pytest.raises(CourseError, match="expected a whole checkpoint"):
        load_translator(path)


class Adapted(torch.nn.Module):
    """What an adapter such as LoRA puts around a layer."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.down = torch.nn.Parameter(torch.zeros(2, inner.in_features))

    def forward(self, x):
        return self.inner(x) + (x @ self.down.T).sum(-1, keepdim=True)


class Letters(Vocabulary):
    def split(self, text):
        return list(text)


def adapted(t):
    t.model.decoder.layers[0].feed_forward.expand = Adapted(t.model.output)


def untied(t):
    t.model.output.weight = torch.nn.Parameter(t.model.output.weight.detach().clone())


def not_finite(t):
    t.model.output.weight.data[0, 0] = math.nan


CHANGES = {
    "weight norm": (
        lambda t: torch.nn.utils.parametrizations.weight_norm(t.model.output),
        "output.parametrizations.weight.original0 is no parameter",
    ),
    "an adapter": (adapted, "expand.bias is missing"),
    "a parameter too many": (
        lambda t: t.model.register_parameter("stray", torch.nn.Parameter(torch.zeros(1))),
        "stray is no parameter",
    ),
    "a parameter missing": (
        lambda t: t.model.encoder.layers[0].add_norm_1.norm.register_parameter("bias", None),
        "add_norm_1.norm.bias is missing",
    ),
    "a table untied": (untied, "output.weight is no parameter"),
    "not finite": (not_finite, "tokens.weight has entries that are not finite"),
    "letters": (
        lambda t: setattr(t, "source_vocabulary", Letters(t.source_vocabulary.tokens)),
        "a vocabulary is a Letters",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_what_a_checkpoint_cannot_describe_is_refused_before_it_is_written(
    toy, tmp_path, change, message
):
    recipe = replace(toy, model={**toy.model, "tying": "output"})
    translator = load_training_data(recipe).new_translator(recipe)
    save_checkpoint(tmp_path / "m.safetensors", translator)
    before = (tmp_path / "m.safetensors").read_bytes()
    change(translator)
    with pytest.raises(CourseError, match="that a checkpoint can describe") as refused:
        save_checkpoint(tmp_path / "m.safetensors", translator)
    assert message in str(refused.value)
    assert (tmp_path / "m.safetensors").read_bytes() == before


def test_numbers_too_large_for_the_type_they_are_stored_in_are_refused(translator, tmp_path):
    with torch.no_grad():
        translator.model.output.weight[0, 0] = 1e5
    save_checkpoint(tmp_path / "m.safetensors", translator)
    with pytest.raises(CourseError, match="output.weight has entries that are not finite"):
        save_checkpoint(tmp_path / "m.safetensors", translator, bits=16)


def test_a_model_with_bugs_is_saved_if_its_recipe_names_them(toy, tmp_path):
    recipe = replace(toy, bugs=("scores_by_width", "dropout_after_norm", "positions_without_width"))
    translator = load_training_data(recipe).new_translator(recipe)
    path = tmp_path / "m.safetensors"
    save_checkpoint(path, translator, info={"recipe": {"bugs": recipe.bugs}})
    assert load_translator(path).translate("a b") == translator.translate("a b")


@pytest.mark.usefixtures("own_messages")
def test_other_arguments_than_a_path_and_a_translator_are_refused(translator, tmp_path):
    path = str(tmp_path / "m.safetensors")
    for arguments in ((translator, path), (path, translator.model)):
        with pytest.raises(CourseError, match="expected a path, then a Translator"):
            save_checkpoint(*arguments)
    with pytest.raises(CourseError, match="PosixPath is not JSON|WindowsPath is not JSON"):
        save_checkpoint(path, translator, info={"from": tmp_path})
    save_checkpoint(path, translator)
    assert read_checkpoint(path)[0].source_vocabulary.tokens == translator.source_vocabulary.tokens


def test_a_failed_write_says_so_and_leaves_the_older_file_whole(translator, tmp_path, monkeypatch):
    path = tmp_path / "best.safetensors"
    save_checkpoint(path, translator)
    before = path.read_bytes()

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course_lib.training.runs.checkpoint.save_file", full_disk)
    with pytest.raises(CourseError, match="could not write .*No space left.*disk full"):
        save_checkpoint(path, translator)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["best.safetensors"]


def test_a_path_through_a_file_cannot_be_written(translator, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CourseError, match="could not write .*is a file in the way"):
        save_checkpoint(tmp_path / "file" / "best.safetensors", translator)


def test_a_folder_where_a_checkpoint_should_be_is_named(translator, tmp_path):
    (tmp_path / "best.safetensors").mkdir()
    with pytest.raises(CourseError, match="best.safetensors, found a folder"):
        read_checkpoint(tmp_path / "best.safetensors")


def test_a_checkpoint_that_may_not_be_read_is_not_called_damaged(translator, tmp_path, monkeypatch):
    path = tmp_path / "best.safetensors"
    save_checkpoint(path, translator)

    def refuse(self, *args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CourseError, match="which cannot be read .Permission denied.: whose is it"):
        read_checkpoint(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_read_only_folder_cannot_be_written(translator, tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(CourseError, match="is the folder read-only"):
            save_checkpoint(tmp_path / "best.safetensors", translator)
    finally:
        tmp_path.chmod(stat.S_IRWXU)
        shutil.rmtree(tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_shapes")
def test_a_torn_disk_in_the_middle_of_training_leaves_the_last_good_checkpoint(
    toy, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_folder, "SAVE_EVERY", 0.0)
    original, saves = save_file, []

    def full_after_five(tensors, path, metadata):
        saves.append(path.name)
        if len(saves) > 5:
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device")
        original(tensors, path, metadata=metadata)

    with monkeypatch.context() as patch:
        patch.setattr("course_lib.training.runs.checkpoint.save_file", full_after_five)
        with pytest.raises(CourseError, match="could not write .*No space left.*is untouched"):
            train(toy, folder=tmp_path)
    _, info, _ = read_checkpoint(tmp_path / "last.safetensors")
    assert info["step"] == 4  # after the one before the first step
    assert train(toy, RunOptions(resume=True), folder=tmp_path).losses == train(toy).losses


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has a umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_checkpoint_may_be_read_by_whom_the_umask_lets(translator, tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        save_checkpoint(tmp_path / "m.safetensors", translator)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m.safetensors").stat().st_mode) == mode


def test_reading_a_checkpoint_draws_no_random_number(translator, tmp_path):
    save_checkpoint(tmp_path / "m.safetensors", translator)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    read_checkpoint(tmp_path / "m.safetensors")
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("changes", [{"optimizer": "sgd"}, {"optimizer": "adam"}])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_every_optimiser_goes_on_from_its_checkpoint(toy, tmp_path, monkeypatch, changes, momentum):
    recipe = replace(toy, **changes, momentum=momentum)
    whole = train(recipe)
    with monkeypatch.context() as patch:
        interrupt_at(patch, 5)
        train(recipe, folder=tmp_path)
    assert train(recipe, RunOptions(resume=True), folder=tmp_path).losses == whole.losses
