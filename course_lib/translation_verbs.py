"""``course translate`` and ``course translator``: the verbs that use a trained model.

They stand beside the packages ``decoding`` and ``viz`` and not in them, since those load PyTorch,
and ``course translate --help`` should not wait for that: what a verb needs is imported when it
runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.arguments import option
from course_lib.errors import CourseError
from course_lib.terminal import say

Model = Literal["everyday", "small", "prefix", "modern"]
PageModel = Literal["everyday", "small"]  # what a page's script can compute
DEFAULT_MODEL: PageModel = "everyday"


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """What to translate, and with which model.

    Raises:
        CourseError: both sentences and a file are given, or none of them.
    """

    text: tuple[str, ...] = option(
        "a sentence in quotes", default=(), metavar="TEXT", positional=True, many="*"
    )
    model: Model | None = option(
        "a model that comes with the course: everyday, for short German sentences; small, for the "
        "sentences of the course's grammar; prefix or modern, for the same, one stack of blocks of "
        f"2017 or of today (default: {DEFAULT_MODEL})",
        default=None,
        exclusive="model",
    )
    run: Path | None = option(
        "instead, the folder of a run of yours, or a checkpoint",
        default=None,
        metavar="DIR",
        exclusive="model",
    )
    input: Path | None = option(
        "one sentence per line, plain or .gz (-: standard input)", default=None, metavar="FILE"
    )
    output: Path | None = option(
        "one translation per line (default: the screen); FILE.part until it is complete",
        default=None,
        metavar="FILE",
    )
    beam: int | None = option(
        "beam search with W hypotheses (default: greedy decoding)", default=None, metavar="W"
    )

    def __post_init__(self) -> None:
        if bool(self.text) == bool(self.input):
            raise CourseError("give sentences to translate, or a file with --input: one of the two")


def run_translate(options: TranslateOptions) -> int:
    """Print each text's translation on a line, and warn of what could not be read."""
    from course_lib.data import count_lines, stream_lines
    from course_lib.decoding import Decoding
    from course_lib.decoding.translate_file import (
        one_line,
        translate_free_lines,
        translate_lines,
        warnings_for,
    )
    from course_lib.training import load_translator

    if options.input and options.output:
        _refuse_to_overwrite(options.input, options.output)
    decoding = Decoding() if options.beam is None else Decoding("beam", width=options.beam)
    free = options.run is None  # a run's source may be any language
    model = options.model or DEFAULT_MODEL if free else None
    translator = load_translator(options.run, model=model, tell=_warn)
    if options.input:
        blocks = translate_lines(
            translator,
            stream_lines(options.input),
            decoding=decoding,
            warn=_warn,
            free=free,
            total=count_lines(options.input) if sys.stderr.isatty() else None,
        )
        _write_blocks(blocks, options.output)
        return 0
    texts = _texts(options.text)
    if free:
        lines = translate_free_lines(
            translator, texts, decoding=decoding, warn=lambda _, remark: _warn(remark)
        )
    else:
        translations = translator.translate_texts(texts, decoding=decoding)
        lines = [one_line(translation) for translation in translations]
        for translation in translations:
            for warning in warnings_for(translator, translation):
                _warn(warning)
    _write_blocks([lines], options.output)
    return 0


def _texts(given: Sequence[str]) -> list[str]:
    """The texts to translate; a sentence that was not put in quotes is one of them.

    Raises:
        CourseError: one is empty.
    """
    from course_lib.data import is_blank

    empty = [i for i, text in enumerate(given, start=1) if is_blank(text)]
    if empty:
        which = f"text {empty[0]} of {len(given)}" if len(given) > 1 else "the text"
        raise CourseError(f"expected a sentence with at least one word, got none: {which} is empty")
    if len(given) > 1 and all(len(text.split()) == 1 for text in given):
        sentence = " ".join(given)
        _warn(f'read as one sentence, which is best put in quotes: "{sentence}"')
        return [sentence]
    return list(given)


def _refuse_to_overwrite(source: Path, output: Path) -> None:
    """Refuse to write over the sentences that are translated, at the end or meanwhile."""
    from course_lib.atomic import part_of

    for written in (output, part_of(output)):
        if written.is_file() and source.exists() and written.samefile(source):
            raise CourseError(
                f"expected another file for --output, got {output}: {written} would be written, "
                f"and it is what --input {source} reads"
            )


def _write_blocks(blocks: Iterable[list[str]], output: Path | None) -> None:
    """Write blocks of lines as they come; if something stops them, say how many were written."""
    from course_lib.atomic import grow_atomically, part_of

    done = 0
    with nullcontext() if output is None else grow_atomically(output) as write:
        try:
            for block in blocks:
                if write is None and sys.stdout.isatty():
                    say(*block)
                else:  # as it is: only a terminal would obey what is in it
                    (write or sys.stdout.write)("".join(f"{line}\n" for line in block))
                    sys.stdout.flush()
                done += len(block)
        except BrokenPipeError:  # nobody wants to read on
            raise
        except BaseException:
            if done:
                where = f" and are in {part_of(output)}" if output else ""
                _warn(f"the first {done:,} lines are translated{where}")
            raise


def _warn(message: str) -> None:
    say(f"course translate: {message}", error=True)


@dataclass(frozen=True, kw_only=True)
class TranslatorOptions:
    """Whose page, where to put it, and whether to open it."""

    model: PageModel | None = option(
        "a model that comes with the course: everyday, for short German sentences, or small, for "
        f"the sentences of the course's grammar (default: {DEFAULT_MODEL})",
        default=None,
        exclusive="model",
    )
    mine: bool = option(
        "instead, the Transformer of your own parts that `course train mine` has trained",
        default=False,
        exclusive="model",
    )
    run: Path | None = option(
        "with --mine: the folder of the run (default: mine/run-seed0 in your copy of the course)",
        default=None,
        metavar="DIR",
    )
    output: Path = option(
        "where translator.html goes (default: here); one file to copy anywhere",
        default=Path(),
        metavar="DIR",
    )
    browser: bool = option("write the page only", default=True)


def run_translator(options: TranslatorOptions) -> int:
    """Write a translator as a page that needs neither Python nor a network, and open it."""
    from course_lib.atomic import write_atomically
    from course_lib.lab import has_browser

    page = options.output / "translator.html"
    if options.mine:
        from course_lib.mine.chain import default_run
        from course_lib.mine.page import N_COMPARED, own_page, whose_parts
        from course_lib.mine.verbs import collected

        library = collected().library()
        run = options.run or default_run()
        assert run is not None  # there is a copy of the course, from which parts were collected
        text = own_page(run, library)
        say(f"The Transformer of {run}: {whose_parts(library)}.")
        say(f"Your parts and the page translate {N_COMPARED} sentences alike.")
    else:
        text = page_of(options.model or DEFAULT_MODEL)
    write_atomically(page, text)
    say(f"Written to {page} ({len(text.encode()) / 1e6:.1f} MB, the model included)")
    if options.browser and has_browser():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    else:
        say("Open it in a browser, on this or any other machine.")
    return 0


def page_of(model: PageModel, *, other_page: str = "") -> str:
    """The page of a model that comes with the course, with a link to the page of the other."""
    from course_lib.data import load_corpus
    from course_lib.training import load_translator
    from course_lib.viz.web.translator_page import translator_page

    # Of the grammar's sentences, all words are known and the right translation.
    pairs = load_corpus("grammar_de_en").pairs("test", 300) if model == "small" else []
    sentences = [(pair.source_text, pair.target_text) for pair in pairs]
    translator = load_translator(model=model)
    return translator_page(translator, model, sentences=sentences, other_page=other_page)
