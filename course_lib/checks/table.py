"""All items and their points: the one table that notebooks, checks and progress read."""

from __future__ import annotations

from typing import Literal, NamedTuple

ItemKind = Literal[
    "code", "bug", "cases", "experiment", "predict", "compare", "conclude", "run", "written"
]
OWN_NUMBER: tuple[ItemKind, ...] = ("predict", "compare", "conclude")

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
    "12": "honest_numbers",
    "13": "decoding",
    "14": "reading_attention",
    "15": "museum",
    "16": "one_stack",
    "17": "todays_block",
    "18": "what_a_token_costs",
}


class Entry(NamedTuple):
    """An item's row: difficulty and importance run from 1 to 5.

    ``kind``: "code" is written and checked, "bug" is found, fixed and checked, "cases" are
    tests against wrong versions of a function, an "experiment" finds the error of a function that
    cannot be read, "predict", "compare" and "conclude" ask what a run shows that one's own number
    decides, "run" is an answer about one's own run, checked against its log and weights, and
    "written" is an answer in words, marked by a person.
    """

    id: str
    title: str
    kind: ItemKind
    difficulty: int
    importance: int
    minutes: int
    points: int

    @property
    def is_code(self) -> bool:
        """Whether the answer is code that tests call on their own inputs."""
        return self.kind in ("code", "bug")

    @property
    def card(self) -> str:
        """The line above its task in the notebooks."""
        kinds = {
            "code": "code",
            "bug": "spot the bug",
            "cases": "write the tests",
            "experiment": "experiment",
            "predict": "predict, then explain",
            "compare": "choose between two runs",
            "conclude": "repair a conclusion",
            "run": "your own run",
            "written": "📝 in your own words",
        }
        return (
            f"`{self.id}` · {kinds[self.kind]} · difficulty {_dots(self.difficulty)} · "
            f"importance {_dots(self.importance)} · {self.minutes} minutes · "
            f"{self.points} point{'s' if self.points != 1 else ''}"
        )


def cell_id(item_id: str, role: str) -> str:
    """The id of an item's cell: of "06.padding_mask" and "task", "06-padding-mask-task"."""
    return f"{item_id.replace('.', '-').replace('_', '-')}-{role}"


def _dots(n: int) -> str:
    return f"{'●' * n}{'○' * (5 - n)} {n}/5"


#   id, title, kind, difficulty, importance, minutes, points
_ROWS: tuple[tuple[str, str, ItemKind, int, int, int, int], ...] = (
    ("01.sinusoidal_positions", "Sines and cosines of many frequencies", "code", 2, 4, 15, 3),
    ("01.positional_encoding", "Add the encoding to a batch", "code", 2, 5, 15, 2),
    ("01.shift_matrix", "A shift is a rotation", "code", 4, 2, 30, 2),
    ("01.bug", "A table in which little changes", "bug", 2, 4, 10, 1),
    ("01.experiment", "Which table is this?", "experiment", 3, 4, 20, 6),
    ("01.conclude", "A ruler made of dot products", "conclude", 3, 4, 20, 5),
    ("01.why_both", "Why both sine and cosine", "written", 2, 4, 15, 2),
    ("02.transformer_embedding", "Token plus position", "code", 2, 5, 20, 3),
    ("02.embedding_std", "Start at a loss of ln V", "code", 3, 3, 15, 2),
    ("02.bug", "Overconfident from the first step", "bug", 3, 4, 15, 1),
    ("02.predict", "The loss before the first step", "predict", 3, 5, 20, 5),
    ("02.conclude", "Do token and position count alike?", "conclude", 2, 4, 15, 4),
    ("02.loud_words", "Embeddings that are too large", "written", 2, 4, 15, 2),
    ("03.layer_norm", "Normalise each vector on its own", "code", 2, 5, 15, 2),
    ("03.feed_forward", "The same network at every position", "code", 1, 5, 15, 2),
    ("03.add_norm", "Residual connection, then norm", "code", 2, 5, 15, 2),
    ("03.bug", "A residual connection gone wrong", "bug", 3, 4, 15, 1),
    ("03.experiment", "Which LayerNorm is this?", "experiment", 3, 4, 20, 5),
    ("03.predict", "What else changes", "predict", 3, 4, 20, 5),
    ("03.why_not_batch", "Why not BatchNorm", "written", 2, 4, 15, 2),
    ("04.scaled_dot_product_attention", "Attention in four lines", "code", 2, 5, 20, 2),
    ("04.split_heads", "Split into heads", "code", 2, 4, 15, 1),
    ("04.merge_heads", "Merge the heads", "code", 2, 3, 10, 1),
    ("04.multi_head_attention", "All heads together", "code", 3, 5, 25, 2),
    ("04.bug", "Right shapes, wrong numbers", "bug", 3, 4, 25, 1),
    ("04.cases", "One case against five wrong attentions", "cases", 3, 3, 15, 3),
    ("04.predict", "How many keys does a query attend to", "predict", 3, 5, 20, 6),
    ("04.compare", "The same words, the same weights", "compare", 4, 5, 25, 7),
    ("04.why_the_root", "Why the square root, and of what", "written", 3, 5, 20, 2),
    ("05.puzzle_1", "Token by token", "code", 1, 3, 5, 1),
    ("05.puzzle_2", "The outer product", "code", 1, 2, 5, 1),
    ("05.puzzle_3", "Scores, heads first", "code", 2, 4, 10, 1),
    ("05.puzzle_4", "The weight on the diagonal", "code", 1, 1, 5, 1),
    ("05.puzzle_5", "Three tensors at once", "code", 2, 2, 10, 1),
    ("05.attention_einsum", "Attention with einsum", "code", 2, 4, 20, 2),
    ("05.multi_head_einsum", "All heads in six einsums", "code", 3, 3, 20, 2),
    ("05.bug", "No token affects another", "bug", 3, 3, 20, 1),
    ("05.experiment", "Which attention is this?", "experiment", 4, 4, 25, 7),
    ("05.predict", "What the order costs", "predict", 3, 4, 20, 6),
    ("05.silent_slips", "Bugs that raise no error", "written", 3, 4, 25, 2),
    ("06.padding_mask", "Mask the padding", "code", 1, 5, 5, 1),
    ("06.causal_mask", "Mask the future", "code", 1, 5, 5, 1),
    ("06.decoder_mask", "Mask both", "code", 2, 5, 10, 1),
    ("06.masked_softmax", "Softmax with a mask", "code", 3, 4, 25, 2),
    ("06.bug", "A mask that hides the wrong thing", "bug", 2, 4, 15, 1),
    ("06.cases", "Two cases against five wrong softmaxes", "cases", 3, 4, 15, 3),
    ("06.predict", "Which outputs move", "predict", 3, 5, 20, 5),
    ("06.compare", "Two maps, one wrong mask", "compare", 3, 5, 20, 7),
    ("06.why_not_rows", "Columns, not rows", "written", 2, 5, 15, 2),
    ("07.encoder_block", "The encoder block", "code", 2, 5, 15, 2),
    ("07.decoder_block", "The decoder block", "code", 3, 5, 35, 3),
    ("07.pre_norm_encoder_block", "Pre-norm: the norm goes first", "code", 2, 5, 15, 2),
    ("07.bug", "A broken residual stream", "bug", 3, 3, 15, 2),
    ("07.predict", "How long a vector becomes", "predict", 3, 4, 20, 7),
    ("07.compare", "Two decoder blocks, seen from outside", "compare", 2, 5, 15, 5),
    ("07.own_residual", "Why attention has its own residual", "written", 2, 4, 15, 2),
    ("08.transformer", "The whole model", "code", 4, 5, 55, 4),
    ("08.tie", "Weight tying", "code", 3, 3, 25, 2),
    ("08.count_parameters", "Count parameters without a model", "code", 4, 2, 50, 2),
    ("08.bug", "A stack of one", "bug", 2, 5, 15, 1),
    ("08.compare", "Two models of one config", "compare", 4, 4, 25, 7),
    ("08.conclude", "Is it mostly attention", "conclude", 2, 4, 15, 5),
    ("08.small_start", "Tied embeddings start small", "written", 3, 3, 20, 2),
    ("09.collate", "Pad sentences into a batch", "code", 2, 5, 25, 2),
    ("09.teacher_forcing", "Shifted by one", "code", 2, 5, 15, 2),
    ("09.bucket", "Batches of similar length", "code", 3, 2, 25, 2),
    ("09.bug", "A sentence without an end", "bug", 2, 5, 15, 1),
    ("09.cases", "One case against five wrong shifts", "cases", 2, 4, 10, 2),
    ("09.predict", "How much is padding", "predict", 2, 4, 15, 5),
    ("09.compare", "Two logs of batches", "compare", 4, 5, 25, 7),
    ("09.either_side", "Padding on the left or right", "written", 2, 3, 15, 2),
    ("10.masked_cross_entropy", "Cross-entropy without the padding", "code", 2, 5, 15, 2),
    ("10.train_step", "One training step", "code", 2, 5, 20, 2),
    ("10.target_only_entropy", "The target-only baseline", "code", 3, 3, 30, 2),
    ("10.bug", "A control that proves nothing", "bug", 4, 5, 25, 2),
    ("10.cases", "Two cases against five wrong losses", "cases", 3, 3, 15, 3),
    ("10.compare", "Which of two logs can you believe?", "compare", 4, 5, 25, 8),
    ("10.conclude", "Far below ln V, so it translates?", "conclude", 2, 5, 15, 6),
    ("10.what_it_proves", "What two sentences prove", "written", 2, 5, 15, 2),
    ("11.inverse_sqrt_lr", "Warm up, then decay", "code", 1, 4, 5, 1),
    ("11.label_smoothed_loss", "Label smoothing", "code", 3, 3, 25, 3),
    ("11.bug", "A mean with the wrong weights", "bug", 3, 4, 20, 1),
    ("11.experiment", "Which smoothed loss is this?", "experiment", 4, 3, 25, 4),
    ("11.compare", "Which learning curve is honest?", "compare", 2, 4, 15, 4),
    ("11.own_run", "What your own run shows", "run", 2, 5, 25, 4),
    ("11.why_warm_up", "Why the learning rate rises first", "written", 2, 4, 15, 2),
    ("12.bleu", "BLEU, n-gram by n-gram", "code", 4, 4, 50, 3),
    ("12.paired_bootstrap", "Is the difference more than chance?", "code", 3, 5, 20, 2),
    ("12.bug", "Too sure of its score", "bug", 2, 4, 15, 1),
    ("12.experiment", "Which BLEU is this?", "experiment", 3, 3, 20, 4),
    ("12.conclude", "Is B better than A?", "conclude", 3, 5, 20, 5),
    ("12.honest_number", "What the number doesn't tell you", "written", 2, 5, 15, 2),
    ("13.greedy_decode", "Token by token, until the end", "code", 3, 5, 35, 3),
    ("13.beam_search", "Keep several hypotheses", "code", 5, 3, 75, 3),
    ("13.cached_step", "Compute nothing twice", "code", 4, 5, 35, 2),
    ("13.bug", "Tokens from nowhere", "bug", 3, 3, 20, 1),
    ("13.predict", "What a wider beam finds", "predict", 4, 4, 25, 5),
    ("13.compare", "Which beam search is right?", "compare", 4, 4, 25, 7),
    ("13.wider_and_worse", "Wider beam, worse translation", "written", 2, 4, 15, 2),
    ("14.alignment_error_rate", "How wrong is the alignment", "code", 2, 2, 15, 2),
    ("14.align", "From attention weights to alignments", "code", 2, 4, 15, 2),
    ("14.bug", "A head that depends on its batch", "bug", 2, 3, 15, 1),
    ("14.compare", "Whose error rate is right?", "compare", 3, 4, 20, 4),
    ("14.conclude", "Which head does it?", "conclude", 3, 5, 20, 5),
    ("14.map_and_proof", "A picture is not a proof", "written", 3, 5, 25, 2),
    ("15.bug_1", "Right for one sentence at a time", "bug", 2, 4, 15, 1),
    ("15.bug_2", "As many heads as tokens", "bug", 3, 3, 15, 1),
    ("15.bug_3", "Whose translation?", "bug", 2, 5, 10, 1),
    ("15.bug_4", "Attention that is almost uniform", "bug", 2, 4, 15, 1),
    ("15.bug_5", "Left behind on the CPU", "bug", 3, 3, 20, 1),
    ("15.bug_6", "The best checkpoint", "bug", 3, 5, 20, 1),
    ("15.compare", "Which of the two has a bug?", "compare", 3, 5, 20, 6),
    ("15.conclude", "What was reported?", "conclude", 2, 5, 15, 4),
    ("15.seen_or_not", "Would you have seen it?", "written", 3, 5, 25, 3),
    ("16.prefix_mask", "A source that sees all of itself", "code", 2, 5, 15, 2),
    ("16.join_pairs", "Source and target in one row", "code", 2, 5, 25, 2),
    ("16.continue_greedily", "A translation is a continuation", "code", 3, 4, 35, 2),
    ("16.bug", "A loss that is too good", "bug", 3, 5, 15, 1),
    ("16.predict", "Who hears of a change", "predict", 3, 5, 20, 6),
    ("16.compare", "Which tokens pay", "compare", 3, 5, 20, 6),
    ("16.what_is_lost", "What one stack gives up", "written", 3, 4, 20, 2),
    ("17.rms_norm", "A norm without the mean", "code", 2, 5, 15, 2),
    ("17.swiglu_width", "As many weights with three matrices", "code", 1, 3, 5, 1),
    ("17.rotate", "Position without adding", "code", 3, 5, 25, 2),
    ("17.count_parameters", "Count a published model", "code", 3, 4, 35, 2),
    ("17.bug", "Rows of a published file", "bug", 3, 4, 15, 1),
    ("17.experiment", "Which rotation is this?", "experiment", 4, 4, 25, 6),
    ("17.conclude", "It reads well, so it is right?", "conclude", 4, 5, 25, 6),
    ("17.it_says_paris", "What one right word proves", "written", 3, 4, 20, 2),
    ("18.cache_bytes", "How many bytes a text leaves behind", "code", 2, 5, 20, 1),
    ("18.grouped_query_attention", "Heads that share their keys", "code", 3, 5, 35, 2),
    ("18.latent_absorbed", "Attend without making keys", "code", 4, 3, 30, 2),
    ("18.online_attention", "Attention in blocks", "code", 4, 4, 50, 2),
    ("18.bug", "Keys that turn on and on", "bug", 3, 4, 20, 1),
    ("18.experiment", "Which running softmax is this?", "experiment", 4, 4, 25, 5),
    ("18.predict", "What is in the cache?", "predict", 3, 5, 20, 6),
    ("18.four_savings", "Four savings and what they cost", "written", 3, 4, 20, 2),
)
TABLE = {row[0]: Entry(*row) for row in _ROWS}
