"""The byte-level BPE tokenizer in the fields of a GGUF file (lesson 02)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from course_lib.modern.published_models.gguf_header import DamagedFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONTROL = 3  # the type of tokens that stand for no text
TYPES = frozenset(range(1, 7))  # normal, unknown, control, user-defined, unused, byte


def read_tokens(fields: dict[str, Any]) -> list[str]:
    """The text of each token, by its id.

    Raises:
        DamagedFileError: there is no list of texts.
    """
    tokens = fields.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens or not all(type(t) is str and t for t in tokens):
        raise DamagedFileError("tokenizer.ggml.tokens must be a list of texts, none of them empty")
    return tokens


def read_tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """The tokenizer, ready to use; it adds no special token of its own accord.

    Raises:
        DamagedFileError: tokens, their types or their merges contradict one another.
        ValueError: it is not byte-level BPE with SmolLM's rule for splitting words.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    kind = fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre")
    if kind != ("gpt2", "smollm"):
        raise ValueError(
            f"the tokenizer must be 'gpt2' with the splitting rule 'smollm', got {kind}: another "
            "rule gives other tokens, and silently a worse model"
        )
    tokens = read_tokens(fields)
    merges, types = fields.get("tokenizer.ggml.merges"), fields.get("tokenizer.ggml.token_type")
    if not isinstance(merges, list) or not all(type(m) is str and " " in m for m in merges):
        raise DamagedFileError("tokenizer.ggml.merges must be a list of pairs such as 'a t'")
    if not isinstance(types, list) or len(types) != len(tokens) or not TYPES.issuperset(types):
        raise DamagedFileError(f"tokenizer.ggml.token_type must have {len(tokens)} numbers, 1 to 6")
    ids = {token: i for i, token in enumerate(tokens)}
    if len(ids) < len(tokens):
        raise DamagedFileError("tokenizer.ggml.tokens has one token twice")
    pairs = [(left, right) for left, _, right in (merge.partition(" ") for merge in merges)]
    if unknown := [m for pair in pairs for m in (*pair, "".join(pair)) if m not in ids]:
        raise DamagedFileError(f"tokenizer.ggml.merges names {unknown[0][:60]!r}, not a token")
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, type_ in zip(tokens, types, strict=True) if type_ == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in control])
    return tokenizer
