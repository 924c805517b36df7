"""Arguments of the command, made from the fields of dataclasses."""

from argparse import ArgumentParser, ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from course_lib.arguments import NoOptions, add_arguments, option, options_from, path_argument
from course_lib.errors import CourseError


@dataclass(frozen=True, kw_only=True)
class Oven:
    """Fields that may stand in other options."""

    degrees: float = option("heat (default: %(default)s)", default=180.0)
    minutes: int | None = option("how long", default=None, exclusive="end")


@dataclass(frozen=True, kw_only=True)
class Bake:
    """Fields of all kinds."""

    cake: str = option("which cake", positional=True, metavar="CAKE")
    fruits: tuple[str, ...] = option("+", default=("plum",), positional=True, many="*")
    layers: int = option("how many")
    spices: tuple[str, ...] = option("such as salt", default=(), flag="--spice", many="repeat")
    recipes: tuple[Path, ...] = option("files", default=(), many="+")
    kind: Literal["light", "dark"] = option("the dough", default="light")
    until_done: bool = option("wait", default=False, exclusive="end")
    sugar: bool = option("leave it out", default=True)
    oven: Oven = Oven(degrees=200.0)

    def __post_init__(self):
        if self.layers < 1:
            raise CourseError("expected a layer, got none: take --layers 1")


@dataclass(frozen=True, kw_only=True)
class Begin:
    """One of two must be given."""

    cold: str = option("a", default="", exclusive="start", required=True)
    warm: bool = option("b", default=False, exclusive="start", required=True)


def parsed(text, options=Bake):
    parser = ArgumentParser(prog="bake")
    add_arguments(parser, options)
    return options_from(parser.parse_args(text.split()), options)


def test_what_is_not_given_has_the_default_of_its_field():
    assert parsed("torte --layers 2") == Bake(cake="torte", layers=2)


def test_every_value_has_the_type_of_its_field():
    text = (
        "torte pear apple --layers 2 --spice salt --spice anise --recipes a ~/b --kind dark "
        "--no-sugar --degrees 150 --minutes 40"
    )
    assert parsed(text) == Bake(
        cake="torte",
        fruits=("pear", "apple"),
        layers=2,
        spices=("salt", "anise"),
        recipes=(Path("a"), Path.home() / "b"),
        kind="dark",
        sugar=False,
        oven=Oven(degrees=150.0, minutes=40),
    )


def test_a_verb_without_options_takes_no_argument():
    assert parsed("", NoOptions) == NoOptions()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--layers 1", "required: CAKE"),
        ("torte", "required: --layers"),
        ("torte --layers two", "--layers: invalid int value: 'two'"),
        ("torte --layers 1 --kind grey", "--kind: invalid choice: 'grey'"),
        ("torte --layers 1 --until-done --minutes 3", "not allowed with argument --until-done"),
        ("torte --layers 1 --recipes", "--recipes: expected at least one argument"),
    ],
)
def test_what_does_not_fit_the_fields_is_refused(text, message, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed(text)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_one_argument_of_a_required_group_must_be_given(capsys):
    with pytest.raises(SystemExit):
        parsed("", Begin)
    assert "one of the arguments --cold --warm is required" in capsys.readouterr().err
    assert parsed("--warm", Begin) == Begin(warm=True)


def test_values_that_contradict_each_other_are_refused_by_the_dataclass():
    with pytest.raises(CourseError, match="expected a layer, got none"):
        parsed("torte --layers 0")


def test_the_help_shows_the_defaults_that_count_here(capsys):
    with pytest.raises(SystemExit):
        parsed("--help")
    assert "heat (default: 200.0)" in capsys.readouterr().out


def test_a_path_is_in_the_home_folder_also_where_the_shell_leaves_the_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))  # Windows has this one
    assert path_argument("~/site") == tmp_path / "site"
    assert path_argument("-") == Path("-")


def test_a_path_in_a_home_folder_that_is_not_there_is_refused():
    with pytest.raises(ArgumentTypeError, match="expected a home folder for ~nobody-here/site"):
        path_argument("~nobody-here/site")
