"""All items with what they are worth: notebooks, README and marks read this one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["code", "bug", "written"]

TOPICS = {
    "01": "positional_encoding",
    "02": "embeddings",
    "03": "feed_forward",
    "04": "attention_matmul",
    "05": "attention_einsum",
    "06": "masks",
    "07": "blocks",
    "08": "full_model",
    "09": "batching",
    "10": "two_sentences",
    "11": "training",
    "12": "decoding",
    "13": "reading_attention",
    "14": "museum",
}


@dataclass(frozen=True)
class Entry:
    """An item's row: difficulty and importance run from 1 to 5.

    ``kind``: "code" is written and checked, "bug" is found and mended and checked, "written" is an
    answer in words, marked by a person.
    """

    id: str
    title: str
    kind: Kind
    difficulty: int
    importance: int
    minutes: int
    points: int

    @property
    def card(self) -> str:
        """The line over its task in the notebooks."""
        kinds = {"code": "code", "bug": "spot the bug", "written": "📝 in your own words"}
        return (
            f"`{self.id}` · {kinds[self.kind]} · difficulty {_dots(self.difficulty)} · "
            f"importance {_dots(self.importance)} · {self.minutes} minutes · "
            f"{self.points} point{'s' if self.points != 1 else ''}"
        )


def _dots(n: int) -> str:
    return f"{'●' * n}{'○' * (5 - n)} {n}/5"


#   id, title, kind, difficulty, importance, minutes, points
_ROWS: tuple[tuple[str, str, Kind, int, int, int, int], ...] = (
    ("01.sinusoidal_positions", "A clock for each pair of columns", "code", 2, 5, 15, 4),
    ("01.positional_encoding", "Add it to a batch", "code", 2, 5, 15, 4),
    ("01.shift_matrix", "A shift is a rotation", "code", 3, 3, 15, 4),
    ("01.bug", "A table that stands still", "bug", 2, 4, 10, 2),
    ("01.why_both", "Sine and cosine", "written", 2, 4, 10, 2),
    ("02.transformer_embedding", "Word plus place", "code", 3, 5, 15, 4),
    ("02.embedding_std", "Start at ln V", "code", 2, 4, 10, 2),
    ("02.bug", "Sure from the first step", "bug", 3, 4, 10, 2),
    ("02.loud_words", "Words that are too loud", "written", 2, 4, 10, 2),
    ("03.layer_norm", "Each vector by itself", "code", 2, 5, 15, 4),
    ("03.feed_forward", "Each position by itself", "code", 2, 5, 10, 4),
    ("03.add_norm", "Beside the straight road", "code", 2, 5, 10, 4),
    ("03.bug", "The wrong way round a sublayer", "bug", 3, 4, 10, 2),
    ("03.why_not_batch", "Not over the batch", "written", 2, 4, 10, 2),
    ("04.scaled_dot_product_attention", "Attention in four lines", "code", 2, 5, 15, 4),
    ("04.split_heads", "Cut into heads", "code", 2, 4, 5, 2),
    ("04.merge_heads", "Merge the heads", "code", 2, 4, 5, 2),
    ("04.multi_head_attention", "All heads together", "code", 3, 5, 15, 4),
    ("04.bug", "Right shapes, wrong words", "bug", 3, 4, 15, 2),
    ("04.why_the_root", "Why the root, and of what", "written", 2, 5, 10, 2),
    ("05.puzzle_1", "Word by word", "code", 1, 3, 3, 1),
    ("05.puzzle_2", "Every number meets every other", "code", 1, 3, 3, 1),
    ("05.puzzle_3", "Scores, heads first", "code", 2, 4, 5, 1),
    ("05.puzzle_4", "What each head gives to itself", "code", 2, 3, 3, 1),
    ("05.puzzle_5", "Three tensors at once", "code", 3, 3, 5, 1),
    ("05.attention_einsum", "Attention in letters", "code", 2, 4, 10, 3),
    ("05.multi_head_einsum", "All heads in six strings", "code", 3, 4, 15, 4),
    ("05.bug", "Nobody listens", "bug", 3, 4, 10, 2),
    ("05.silent_slips", "Slips that nobody hears", "written", 3, 4, 10, 2),
    ("06.padding_mask", "Hide the pads", "code", 1, 5, 5, 2),
    ("06.causal_mask", "Hide the future", "code", 1, 5, 5, 2),
    ("06.decoder_mask", "Hide both", "code", 2, 5, 5, 2),
    ("06.masked_softmax", "Softmax over what is left", "code", 3, 5, 15, 4),
    ("06.bug", "A mask that hides the wrong thing", "bug", 2, 4, 10, 2),
    ("06.why_not_rows", "Columns, not rows", "written", 2, 4, 10, 2),
    ("07.encoder_block", "A block that reads", "code", 2, 5, 15, 4),
    ("07.decoder_block", "A block that writes", "code", 3, 5, 20, 5),
    ("07.pre_norm_encoder_block", "The norm goes first", "code", 2, 4, 10, 3),
    ("07.bug", "The stream that is cut", "bug", 3, 4, 15, 3),
    ("07.own_residual", "A residual of its own", "written", 2, 4, 10, 2),
    ("08.transformer", "The whole model", "code", 3, 5, 30, 6),
    ("08.tie", "One table in several places", "code", 3, 4, 15, 3),
    ("08.count_parameters", "Count without building", "code", 3, 4, 20, 4),
    ("08.bug", "A stack of one", "bug", 2, 5, 10, 2),
    ("08.small_start", "A tied table starts small", "written", 3, 4, 10, 2),
    ("09.collate", "Into one rectangle", "code", 2, 5, 15, 4),
    ("09.teacher_forcing", "Shifted by one", "code", 2, 5, 10, 3),
    ("09.bucket", "Neighbours of like length", "code", 3, 4, 20, 4),
    ("09.bug", "A sentence without an end", "bug", 2, 4, 10, 2),
    ("09.either_side", "Left or right", "written", 2, 4, 10, 2),
    ("10.masked_cross_entropy", "How wrong was it?", "code", 2, 5, 15, 4),
    ("10.train_step", "One step", "code", 2, 5, 15, 4),
    ("10.target_only_entropy", "What English alone is worth", "code", 3, 4, 20, 4),
    ("10.bug", "A test that is blind itself", "bug", 3, 5, 15, 3),
    ("10.what_it_proves", "What two sentences prove", "written", 2, 5, 10, 2),
    ("11.inverse_sqrt_lr", "Up, then down", "code", 1, 5, 5, 2),
    ("11.label_smoothed_loss", "Room for doubt", "code", 3, 5, 15, 4),
    ("11.masked_accuracy", "How many tokens are right", "code", 2, 4, 5, 2),
    ("11.bleu", "Piece by piece", "code", 3, 5, 20, 5),
    ("11.bug", "Who has a say in the mean", "bug", 3, 4, 10, 2),
    ("11.honest_number", "What the number does not say", "written", 2, 5, 10, 2),
    ("12.greedy_decode", "Word by word, until the end", "code", 3, 5, 20, 4),
    ("12.beam_search", "Keep several beginnings", "code", 4, 4, 30, 5),
    ("12.cached_step", "Nothing twice", "code", 3, 4, 15, 4),
    ("12.bug", "Words that nobody said", "bug", 3, 4, 10, 2),
    ("12.wider_and_worse", "Wider, likelier, worse", "written", 2, 4, 10, 2),
    ("13.alignment_error_rate", "How wrong are the links", "code", 2, 4, 10, 3),
    ("13.align", "From weights to links", "code", 2, 5, 10, 3),
    ("13.heads_for_figure", "The slices of three figures", "code", 3, 3, 20, 4),
    ("13.bug", "A head that depends on its company", "bug", 2, 4, 10, 2),
    ("13.map_and_proof", "A picture and a proof", "written", 3, 4, 10, 2),
    ("14.bug_1", "Right when you are alone", "bug", 2, 4, 10, 2),
    ("14.bug_2", "As many heads as words", "bug", 3, 4, 15, 2),
    ("14.bug_3", "Whose translation?", "bug", 2, 5, 10, 2),
    ("14.bug_4", "Heads that hardly choose", "bug", 2, 4, 10, 2),
    ("14.bug_5", "What stays at home", "bug", 3, 3, 10, 2),
    ("14.bug_6", "The best of all weights", "bug", 3, 4, 10, 2),
    ("14.seen_or_not", "Would you have seen it?", "written", 3, 5, 15, 3),
)
TABLE = {row[0]: Entry(*row) for row in _ROWS}
