"""Parameters and bytes of a decoder-only model, by formula: nothing is built to count it."""

from course_lib.modern.config import DecoderConfig


def parameter_parts(config: DecoderConfig) -> dict[str, int]:
    """The parameters of a model by part; they add up to those that ``DecoderOnly(config)`` has.

    A tied table is counted once, among the embeddings. What has no parameters is left out.
    """
    c = config
    norm = c.d_model * (1 if c.norm == "rms" else 2)
    parts = {
        "embedding": c.vocab * c.d_model,
        "positions": c.max_len * c.d_model * (c.positions == "learned"),
        "attention": c.n_layers * _attention(c),
        "router": c.n_layers * c.d_model * c.n_experts,
        "feed-forward": c.n_layers * (c.n_experts or 1) * _feed_forward(c),
        "norm": c.n_layers * norm * (4 if c.placement == "both" else 2),
        "final norm": norm * (c.placement != "post"),
        "output": c.vocab * c.d_model * (not c.tied),
    }
    return {part: size for part, size in parts.items() if size}


def count_parameters(config: DecoderConfig) -> int:
    """All parameters, the sum of ``parameter_parts``."""
    return sum(parameter_parts(config).values())


def active_parameters(config: DecoderConfig) -> int:
    """The parameters that one token uses: of the experts, ``top_k`` a layer."""
    unused = (config.n_experts - config.top_k) if config.n_experts else 0
    return count_parameters(config) - config.n_layers * unused * _feed_forward(config)


def _attention(c: DecoderConfig) -> int:
    """Of one layer."""
    queries = c.n_heads * c.resolved_d_head
    if c.d_latent is not None:
        rotary = c.d_rotary * c.d_model * (c.n_heads + 1)  # a query in each head, one key for all
        return 2 * c.d_model * queries + c.d_latent * (c.d_model + 2 * queries) + rotary
    keys = c.resolved_n_kv_heads * c.resolved_d_head
    biases = (queries + 2 * keys + c.d_model) * c.bias
    return 2 * c.d_model * (queries + keys) + biases + 2 * c.resolved_d_head * c.qk_norm


def _feed_forward(c: DecoderConfig) -> int:
    """Of one layer's network, or of one of its experts."""
    width = (c.d_expert or c.d_ff) if c.n_experts else c.d_ff
    matrices = 2 if c.activation == "relu" else 3
    biases = ((matrices - 1) * width + c.d_model) * c.bias
    return matrices * c.d_model * width + biases


def cache_numbers_per_token(config: DecoderConfig) -> int:
    """How many numbers one layer keeps of one token: keys and values, or one latent."""
    if config.d_latent is not None:
        return config.d_latent + config.d_rotary
    return 2 * config.resolved_n_kv_heads * config.resolved_d_head


def cache_bytes_per_token(config: DecoderConfig, *, bytes_per_number: int = 2) -> int:
    """What a token adds to the cache of all layers, as long as no window is full.

    Args:
        bytes_per_number: 2 in float16 and bfloat16, 4 in float32.
    """
    return config.n_layers * cache_numbers_per_token(config) * bytes_per_number


def cache_bytes(
    config: DecoderConfig, length: int, *, batch: int = 1, bytes_per_number: int = 2
) -> int:
    """The cache after ``length`` tokens: a layer with a window keeps at most that many.

    Args:
        bytes_per_number: 2 in float16 and bfloat16, 4 in float32.
    """
    windows = config.layer_windows
    tokens = sum(length if window is None else min(length, window) for window in windows)
    return batch * tokens * cache_numbers_per_token(config) * bytes_per_number
