"""A translator of the course's own, by its name."""

from typing import get_args

import numpy as np
import pytest
from torch.nn import LayerNorm

from course_lib.data import load_corpus
from course_lib.errors import CourseError
from course_lib.modern import RMSNorm
from course_lib.training import evaluate, load_translator
from course_lib.training.runs.checkpoint import PRETRAINED
from course_lib.translation_verbs import DEFAULT_MODEL, Model
from course_lib.viz import explore_model


def test_the_lessons_translator_is_the_small_one():
    tokens = load_translator().source_vocabulary.tokens
    assert load_translator(model="small").source_vocabulary.tokens == tokens
    assert load_translator(PRETRAINED["small"]).source_vocabulary.tokens == tokens


def test_the_command_offers_the_models_that_the_library_has_and_its_default_ships():
    assert get_args(Model) == tuple(PRETRAINED)
    assert PRETRAINED[DEFAULT_MODEL].is_file()


def test_a_model_of_another_name_is_refused_with_the_names_there_are():
    with pytest.raises(
        CourseError, match=r"\(everyday, small, prefix, modern\), got 'smal': did you mean small"
    ):
        load_translator(model="smal")


def test_a_model_that_is_not_there_is_refused_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(PRETRAINED, "everyday", tmp_path / "everyday.safetensors")
    with pytest.raises(CourseError, match="found nothing: .* Use the model 'small', or train one"):
        load_translator(model="everyday")


def test_a_path_and_a_model_together_are_refused(tmp_path):
    with pytest.raises(CourseError, match="expected a path or a model, got both"):
        load_translator(tmp_path, model="small")


def test_the_everyday_translator_knows_its_languages_and_is_small():
    everyday = load_translator(model="everyday")
    assert everyday.language_evidence is not None and "ß" in everyday.known_characters
    assert str(everyday.translate("Ich liebe dich.")) == "I love you."
    assert PRETRAINED["everyday"].stat().st_size < 4.2e6


def test_the_explorer_shows_what_the_everyday_translator_attends_to():
    everyday = load_translator(model="everyday")
    translation, record = everyday.attend("Ich liebe dich.")
    label = everyday.source_vocabulary.label
    source = [label(token) for token in translation.source]
    written = [label(token) for token in translation.target]
    data = explore_model(record, [*written, "<eos>"], source).select(kind="cross").data
    assert data.key_tokens == ("▁Ich", "▁liebe", "▁dich", ".")
    assert data.gold == () and np.allclose(data.weights.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize(("name", "norm"), [("prefix", LayerNorm), ("modern", RMSNorm)])
def test_one_stack_translates_sentences_that_it_has_not_seen(name, norm):
    translator = load_translator(model=name)
    assert isinstance(translator.model.stack.final_norm, norm)
    pairs = load_corpus("grammar_de_en").pairs("test", 60)
    assert evaluate(translator, pairs).exact >= 0.9
    assert PRETRAINED[name].stat().st_size < 2.3e6
    assert f'load_translator(model="{name}")' in PRETRAINED[name].with_suffix(".md").read_text()
