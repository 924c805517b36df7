"""The ``course`` command: a table of verbs, and what an error of theirs looks like.

A verb stands beside the package that it uses, and its module is imported when it is asked for. That
module imports what it needs when the verb runs. So ``course --help`` is fast, and ``course doctor``
works where PyTorch does not.
"""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import re
import sys
import textwrap
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, get_type_hints

from course_lib.arguments import add_arguments, options_from
from course_lib.ctrl_c import INTERRUPTED, interruptible_imports
from course_lib.errors import DISTRIBUTION, CourseError
from course_lib.terminal import fit_terminal, say, stop_printing
from course_lib.threads import spin_less
from course_lib.wording import did_you_mean, shown


@dataclass(frozen=True, kw_only=True)
class Verb:
    """One ``course VERB``: what it does, how it is called, and ``run``, as "module:function".

    The function takes ``options``, a dataclass, and gives the exit status.
    """

    help: str
    example: str
    run: str

    def load(self) -> tuple[Callable[[Any], int], type[Any]]:
        """The function, imported now, and the class of its options."""
        module, _, name = self.run.partition(":")
        function = getattr(importlib.import_module(f"course_lib.{module}"), name)
        return function, get_type_hints(function)["options"]


VERBS = {
    # for learners
    "lab": Verb(
        help="open the lessons in JupyterLab",
        example="course lab 06 --exercise",
        run="lab:run_lab",
    ),
    "progress": Verb(
        help="say which exercises are done and which comes next",
        example="course progress 06",
        run="work_copy.verbs:run_progress",
    ),
    "mine": Verb(
        help="show which parts of a Transformer you have written, and try them together",
        example="course mine",
        run="mine.verbs:run_mine",
    ),
    "update": Verb(
        help="bring a new release of the course into your copy, where your work stays",
        example="course update",
        run="work_copy.verbs:run_update",
    ),
    "reset": Verb(
        help="put back an answer or a notebook as the course released it, after a backup",
        example="course reset 06.padding_mask",
        run="work_copy.verbs:run_reset",
    ),
    "pages": Verb(
        help="write lessons as HTML pages that need no kernel and no network",
        example="course pages 00 04 --output pages",
        run="pages:run_pages",
    ),
    "doctor": Verb(
        help="say what is installed, what is missing and how to fix it",
        example="course doctor",
        run="doctor:run_doctor",
    ),
    # for training and translating
    "translate": Verb(
        help="translate sentences, or the lines of a file, with a trained model",
        example='course translate "Die müde Köchin schläft."',
        run="translation_verbs:run_translate",
    ),
    "translator": Verb(
        help="write a page that translates by itself and shows all that the model computes",
        example="course translator --output site",
        run="translation_verbs:run_translator",
    ),
    "recipes": Verb(
        help="list recipes and corpora, or all fields of one recipe",
        example="course recipes small",
        run="training_verbs:run_recipes",
    ),
    "train": Verb(
        help="train a translator by a recipe, on the course's data or your own",
        example="course train small --set lr=1e-3 --set model.d_model=64 --out runs/first",
        run="training_verbs:run_train",
    ),
    "plot": Verb(
        help="draw the curves of one run, or compare several",
        example="course plot runs/small-seed0 runs/small-seed1 --out curves --open",
        run="training_verbs:run_plot",
    ),
    # for teachers
    "figures": Verb(
        help="write the drawings of lessons as SVG files and as slides",
        example="course figures 04 06 --output figures",
        run="figures:run_figures",
    ),
    "assign": Verb(
        help="write exercises for each group of a class, or two oral questions for each student",
        example="course assign --variants 6 --seed 2027-spring --assignment 06_masks",
        run="grading.verbs:run_assign",
    ),
    "grade": Verb(
        help="grade what students handed in, isolated from everything else",
        example="course grade incoming --assignment 06_masks --results results --jobs 4",
        run="grading.verbs:run_grade",
    ),
    "report": Verb(
        help="show a graded class at a glance, as a page with plots and as CSV",
        example="course report results --assignment 06_masks --output report",
        run="grading.verbs:run_report",
    ),
    "export": Verb(
        help="write the points of a class for Canvas, Moodle, Gradescope, nbgrader or a table",
        example="course export results --format canvas --roster roster.csv --output canvas.csv",
        run="grading.verbs:run_export",
    ),
    "similar": Verb(
        help="list submissions that agree in what few others wrote, as a hint for a person",
        example="course similar incoming --assignment 06_masks",
        run="grading.verbs:run_similar",
    ),
}


def _version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "of a folder that is not installed"


class _Parser(ArgumentParser):
    """Its errors repeat what was given, which may be names that somebody else gave to files."""

    asked: ArgumentParser | None = None  # that of the verb that is asked for

    def error(self, message: str) -> NoReturn:
        """Print it with the usage, and the option that was perhaps meant; exit with 2."""
        if unknown := re.match(r"unrecognized arguments: (--[^\s=]+)", message):
            usage = self.asked.format_usage() if self.asked else ""
            message += did_you_mean(unknown[1], re.findall(r"--[a-z-]+", usage))
        super().error(shown(message))


def build_parser(asked: str) -> _Parser:
    """The parser of every verb, each with ``--debug`` and an example in its help.

    Of the arguments, it has those of the verb that is asked for: no other is imported.
    """
    parser = _Parser(
        prog="course",
        description="The Transformer, Question by Question: lessons, exercises, grading.",
        epilog="begin with:\n  course lab          the first lesson, in JupyterLab\n"
        "  course doctor       if anything does not work\n"
        "  course VERB --help  all options of a verb, with an example",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"course {_version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        verb_parser = verbs.add_parser(
            name,
            help=verb.help,
            description=f"{verb.help[0].upper()}{verb.help[1:]}.",
            epilog=f"example:\n  {verb.example}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        if name == asked:
            add_arguments(verb_parser, verb.load()[1])
        verb_parser.add_argument(
            "--debug", action="store_true", help="show the traceback of an error"
        )
        if name == asked:
            parser.asked = verb_parser
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit status; an error is one line on stderr unless ``--debug``."""
    fit_terminal()
    spin_less()
    arguments = sys.argv[1:] if arguments is None else arguments
    asked = next((each for each in arguments if not each.startswith("-")), "")
    parser = build_parser(asked)
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    if asked and asked not in VERBS:
        close = did_you_mean(asked, VERBS) or ":"
        parser.error(f"expected a verb, got {asked!r}{close} the verbs are {', '.join(VERBS)}")
    parsed = parser.parse_args(arguments)
    try:
        with interruptible_imports():
            run, options = VERBS[parsed.verb].load()
            status = run(options_from(parsed, options))
        sys.stdout.flush()  # so that a full disk is noticed here
        return status
    except BrokenPipeError:  # `course doctor | head -1`
        stop_printing()
        return 141  # what a shell expects of a program whose reader has gone
    except KeyboardInterrupt:
        say("", f"course {parsed.verb}: stopped by Ctrl-C", error=True)
        return INTERRUPTED
    except Exception as error:
        if parsed.debug:
            say(*traceback.format_exc().splitlines(), error=True)
        elif isinstance(error, CourseError):
            say(f"course {parsed.verb}: {error}", error=True)
        elif isinstance(error, ImportError) or _while_importing(error):
            say(f"course {parsed.verb}: {_one_line(error)}: see `course doctor`", error=True)
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC and not error.filename:
            stop_printing()
            message = f"could not write the output ({error.strerror}): is the disk full?"
            say(f"course {parsed.verb}: {message}", error=True)
        elif isinstance(error, OSError) and error.filename is not None:
            message = f"could not use {error.filename} ({error.strerror})"
            hint = "is the path right, and are you allowed to read and write there?"
            say(f"course {parsed.verb}: {message}: {hint}", error=True)
        elif _out_of_memory(error):
            hint = "take a smaller model, shorter batches or less data"
            message = f"memory is short ({_one_line(error)})"
            say(f"course {parsed.verb}: {message}: {hint}", error=True)
        else:
            message = f"{_one_line(error)} (--debug shows where)"
            say(f"course {parsed.verb}: {message}", error=True)
        return 1


def _out_of_memory(error: Exception) -> bool:
    """Whether Python or PyTorch got no memory; PyTorch has no class of its own for a CPU's."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError)
        and any(text in str(error) for text in ("can't allocate memory", "out of memory"))
    )


def _while_importing(error: BaseException) -> bool:
    """Whether it comes from a module that does not load: a damaged package can raise anything."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code.co_name == "<module>" for frame, _ in frames)


def _one_line(error: BaseException) -> str:
    """The error's kind and the start of its message."""
    text = textwrap.shorten(str(error), 300, placeholder=" …")
    return text if isinstance(error, ImportError) else f"{type(error).__name__}: {text}"
