"""18.cache_bytes: How many bytes a text leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from course_lib.checks.engine import Call, Draw, Item, Probe
from course_lib.checks.engine.adapters import WrongResult
from course_lib.modern import DecoderConfig, cache_bytes, published


def _use_config(count: Callable[..., Any], fields: Mapping[str, Any], *args: Any) -> Any:
    """Count for a configuration with these fields: (length, batch, bytes_per_number) follow.

    Raises:
        WrongResult: the count is a float.
    """
    length, *more = args
    named = dict(zip(("batch", "bytes_per_number"), more, strict=False))
    total = count(DecoderConfig(**fields), length, **named)
    if isinstance(total, float) or (isinstance(total, Tensor) and total.is_floating_point()):
        raise WrongResult("expected a whole number of bytes, got a float")
    return total


def _call(draw: Draw, about: str, *args: int, **more: Any) -> Call:
    """Sizes that all differ, so that none can be confused with another."""
    kv_heads, shared = draw.integer(2, 4), draw.integer(3, 5)
    fields = {
        "vocab": draw.integer(50, 90),
        "d_model": kv_heads * shared * 8,
        "d_ff": draw.integer(91, 120),
        "n_heads": kv_heads * shared,
        "n_kv_heads": kv_heads,
        "n_layers": draw.integer(6, 11),
    }
    chosen = {key: value for key, value in {**fields, **more}.items() if value is not None}
    return Call((chosen, *(args or (draw.integer(200, 300),))), about=about)


def _published(draw: Draw) -> list[Call]:
    """Models that can be looked up, with the cache of a long text."""
    names = ("smollm2_135m", "qwen3_0_6b", "gemma_3_270m")
    return [
        Call((dict(vars(published(name))), 4096), about=f"4,096 tokens of {name}") for name in names
    ]


_LATENT: dict[str, Any] = {"n_kv_heads": None, "d_latent": 20, "d_rotary": 6}


item = Item(
    "18.cache_bytes",
    reference=cache_bytes,
    use=_use_config,
    tolerance=0.0,
    probes=[
        Probe(
            "keys and values of all tokens are counted, in all layers",
            lambda draw: [
                _call(draw, "fewer heads of keys than of queries"),
                _call(draw, "as many heads of keys as of queries", n_kv_heads=None),
                _call(draw, "a single token", 1),
            ],
        ),
        Probe(
            "a head may be wider or narrower than d_model / n_heads",
            lambda draw: [
                _call(draw, "d_head set explicitly", d_head=22),
                _call(draw, "d_head set explicitly", d_head=4),
            ],
        ),
        Probe(
            "a layer with a window keeps no more tokens than fit into it",
            lambda draw: [
                _call(draw, "a window in all layers", windows=(16,)),
                _call(draw, "a window in five layers of six", windows=(32,) * 5 + (None,)),
                _call(draw, "two windows, one wider than the text", windows=(64, 512)),
                _call(draw, "the first layer sees everything", windows=(None, 24)),
                _call(draw, "a text as long as the window", 48, windows=(48, None)),
            ],
        ),
        Probe(
            "of a latent, there is one for keys and values of all heads",
            lambda draw: [
                _call(draw, "a latent with rotary features", **_LATENT),
                _call(
                    draw, "a latent, no positions", **_LATENT | {"d_rotary": 0}, positions="none"
                ),
                _call(draw, "a latent and windows", **_LATENT, windows=(32, None)),
            ],
        ),
        Probe(
            "several texts, and numbers of other sizes",
            lambda draw: [
                _call(draw, "seven texts", 120, 7),
                _call(draw, "float32", 130, 1, 4),
                _call(draw, "five texts in eight bits, windows", 140, 5, 1, windows=(32, None)),
            ],
        ),
        Probe("published models", _published),
    ],
    hints=(
        "Count for one token in one layer first. What does attention need of it when the next "
        "token comes, and what of it is never needed again?",
        "The numbers of one token in one layer are the same in all layers; what differs is how "
        "many tokens a layer keeps. So add up the tokens over the layers, and multiply once.",
        "Three layers with the windows 4, 4 and None keep 4 + 4 + 10 tokens of a text of 10, and "
        "2 + 2 + 2 of one of 2. A latent of 20 with 6 rotary features is 26 numbers, whatever the "
        "number of heads is.",
    ),
)


@item.switchable
def counting_with(on: frozenset[str]) -> Callable[..., Any]:
    """``cache_bytes`` with these misconceptions."""

    def answer(
        config: DecoderConfig, length: int, batch: int = 1, bytes_per_number: int = 2
    ) -> Any:
        if "always_two_bytes" in on:
            bytes_per_number = 2
        if "one_byte_a_number" in on:
            bytes_per_number = 1
        if "in_bits" in on:
            bytes_per_number *= 8
        tokens = sum(tokens_of(config, length))
        total = tokens * numbers_of(config) * bytes_per_number
        total *= 1 if "one_text" in on else batch
        return total / 1 if "a_float" in on else total

    def tokens_of(config: DecoderConfig, length: int) -> list[int]:
        windows = [*config.layer_windows]
        if "first_window_for_all" in on:
            windows = windows[:1] * len(windows)
        if "pattern_not_repeated" in on:
            windows = [*config.windows]
        if "one_layer" in on:
            windows = windows[:1]
        if "windows_ignored" in on:
            windows = [None] * len(windows)
        if "windowed_layers_left_out" in on and None in windows:
            windows = [None] * windows.count(None)
        if "window_reserved" in on:
            return [length if window is None else window for window in windows]
        if "at_least_the_window" in on:
            return [length if window is None else max(length, window) for window in windows]
        more = 1 if "window_and_itself" in on else -1 if "window_without_itself" in on else 0
        return [length if window is None else min(length, window + more) for window in windows]

    def numbers_of(config: DecoderConfig) -> int:
        c = config
        if c.d_latent is not None and "latent_beside_heads" in on:
            return c.d_latent + c.d_rotary + 2 * c.resolved_n_kv_heads * c.resolved_d_head
        if c.d_latent is not None and "latent_ignored" not in on:
            rotary = 0 if "rotary_forgotten" in on else c.d_rotary
            rotary *= c.n_heads if "rotary_for_each_head" in on else 1
            if "latent_for_each_head" in on:
                return (c.d_latent + rotary) * c.n_heads
            if "latent_twice_rotary_once" in on:
                return 2 * c.d_latent + rotary
            return (2 if "latent_twice" in on else 1) * (c.d_latent + rotary)
        heads = c.n_heads if "heads_of_queries" in on else c.resolved_n_kv_heads
        if "none_kept_as_none" in on:
            heads = c.n_kv_heads or 1
        d_head = c.d_model // c.n_heads if "share_of_the_width" in on else c.resolved_d_head
        keys = c.d_model if "width_of_the_model" in on else heads * d_head
        if "queries_too" in on:
            return c.n_heads * d_head + 2 * keys
        return (1 if "keys_only" in on else 2) * keys

    return answer


item.switch(
    "keys_only",
    "You count half of what is kept: keys, and no values.",
    why="A later token compares its query with the keys, and then takes the mean of the values. It "
    "needs both of every earlier token.",
    hint="Which two tensors does a cache append to in each step?",
)
item.switch(
    "heads_of_queries",
    "You count as many heads of keys as there are of queries.",
    why="Several heads of queries may share one head of keys and values. Queries are used once and "
    "never kept.",
    hint="The configuration has two numbers of heads. Which one is about keys?",
)
item.switch(
    "width_of_the_model",
    "You count d_model numbers for the keys of a token, and as many for its values.",
    why="Keys are as wide as all heads of keys together, and that can be less than d_model, or "
    "more: there may be fewer heads of keys than of queries, and d_head can be set by itself.",
    hint="How many heads of keys are there, and how wide is one?",
)
item.switch(
    "none_kept_as_none",
    "Where n_kv_heads is None, you count one head.",
    why="None means as many heads of keys as of queries, the attention of 2017. One head for all "
    "would be written as 1.",
    hint="What does the comment beside n_kv_heads say, and which property has it worked out?",
)
item.switch(
    "queries_too",
    "You count the queries with the keys and values.",
    why="A token's query is compared once, when the token is new. No later token asks for it.",
    hint="When the next token comes, which of query, key and value of this one does it use?",
)
item.switch(
    "share_of_the_width",
    "You take d_model / n_heads for the width of a head, whatever d_head is.",
    why="A configuration can set the width of a head by itself. Qwen3-0.6B has d_model 1024 and 16 "
    "heads of 128.",
    hint="Is d_head set? The configuration has a property that asks that for you.",
)
item.switch(
    "windows_ignored",
    "Your layers keep the whole text, also those with a window.",
    why="A layer with a window attends to the last tokens alone, so what lies before them can be "
    "thrown away. That is most of what Gemma 3 saves.",
    hint="How many tokens does a layer with a window of 16 need of a text of 200?",
)
item.switch(
    "first_window_for_all",
    "You take the window of the first layer for all layers.",
    why="Windows alternate: in Gemma 3, five layers have one, and the sixth sees everything.",
    hint="config.layer_windows has an entry for each layer. What do you do with the others?",
)
item.switch(
    "pattern_not_repeated",
    "You count one layer for each entry of config.windows, and not all layers.",
    why="config.windows is a pattern that is repeated over the layers: (512, None) in a model of "
    "six layers stands for three of each.",
    hint="How long is config.windows, and how many layers are there?",
)
item.switch(
    "one_layer",
    "You count one layer.",
    why="Each layer has keys and values of its own, made from its own input.",
    hint="What happens to your number if n_layers doubles?",
)
item.switch(
    "windowed_layers_left_out",
    "You leave out the layers that have a window.",
    why="They keep few tokens, but some: as many as fit into the window.",
    hint="What does a layer with a window of 16 keep after 200 tokens?",
)
item.switch(
    "at_least_the_window",
    "You take the larger of length and window, where a layer keeps the smaller.",
    why="A window is the most that a layer keeps; a shorter text leaves it partly empty.",
    hint="Try a window of 16 with 5 tokens and with 200. How many are kept each time?",
)
item.switch(
    "window_reserved",
    "You count a layer's window as full, also where the text is shorter.",
    why="A window is the most that a layer keeps; a shorter text leaves it partly empty.",
    hint="Try a window of 16 with 5 tokens and with 200. How many are kept each time?",
)
item.switch(
    "window_and_itself",
    "A layer with a window keeps one token too many.",
    why="A window of 4 is the token itself and the three before it, so four keys are all that is "
    "ever read.",
    hint="With a window of 1, which keys does a token attend to?",
)
item.switch(
    "window_without_itself",
    "A layer with a window keeps one token too few.",
    why="A window of 4 is the token itself and the three before it. After a step, its own key is "
    "in the cache, too.",
    hint="With a window of 1, which keys does a token attend to?",
)
item.switch(
    "latent_ignored",
    "You count the keys and values of all heads, where the model keeps a latent.",
    why="With d_latent, keys and values are made from one vector a token. That vector is what is "
    "kept, and nothing else has to be.",
    hint="Which two fields of the configuration are only there for a latent?",
)
item.switch(
    "latent_beside_heads",
    "You count a latent, and beside it the keys and values of all heads.",
    why="Keys and values can be made from the latent again, or are never made at all. Only the "
    "latent and the rotary key are kept.",
    hint="With d_latent, which numbers replace which?",
)
item.switch(
    "latent_twice",
    "You count the latent twice, once for keys and once for values.",
    why="Both are made from the same vector, so one is enough. That is half of the saving.",
    hint="How many latents does a token have?",
    spellings=["latent_twice_rotary_once"],
)
item.switch(
    "latent_for_each_head",
    "You count a latent for each head.",
    why="All heads share one latent, and each makes keys and values of its own from it.",
    hint="What happens to the numbers of a latent if n_heads doubles?",
)
item.switch(
    "rotary_forgotten",
    "You leave out the rotary features beside the latent.",
    why="A position can't be put into the latent, so each token has a short rotary key beside it, "
    "which is kept as well.",
    hint="What is d_rotary, and could the key's position be worked out again without it?",
)
item.switch(
    "rotary_for_each_head",
    "You count the rotary key once for each head.",
    why="All heads share one rotary key. Only the queries have rotary features in each head.",
    hint="How many rotary keys does a token have?",
)
item.switch(
    "one_text",
    "You count one text, whatever the batch is.",
    why="Each text has a cache of its own: nothing in it is shared.",
    hint="Which argument has no effect on your number?",
)
item.switch(
    "always_two_bytes",
    "Your number of bytes is always 2, and bytes_per_number has no effect.",
    why="Keys can be stored in four bytes, in two or in one.",
    hint="Which argument has no effect on your result?",
)
item.switch(
    "one_byte_a_number",
    "You count numbers and not bytes.",
    why="A number in bfloat16 takes two bytes, one in float32 four.",
    hint="In which unit is your result?",
)
item.switch(
    "in_bits",
    "Your result is in bits: it is eight times too large.",
    why="bytes_per_number is in bytes already, and so is what is asked for.",
    hint="Where does a factor of 8 come from?",
)
item.apart += [
    {"windows_ignored", other}
    for other in ("first_window_for_all", "window_and_itself", "window_without_itself")
]
_FULL = ["windows_ignored", "at_least_the_window", "window_reserved"]
item.apart += [{a, b} for a in _FULL for b in _FULL if a < b]
item.apart += [
    {a, b}
    for a in ("at_least_the_window", "window_reserved")
    for b in ("window_and_itself", "window_without_itself")
]
_WIDTH = ["width_of_the_model", "heads_of_queries", "share_of_the_width"]
item.apart += [{a, b} for a in _WIDTH for b in _WIDTH if a < b]  # the last two make the first
item.apart += [{"width_of_the_model", "none_kept_as_none"}]
