"""A reader of the ``config.json`` that a published model comes with."""

from collections.abc import Collection, Mapping
from typing import Any

from course_lib.modern.config import DecoderConfig

# Each field of a ``config.json`` and the course's name for it. This is the only such table.
NAMES = {
    "vocab_size": "vocab",
    "hidden_size": "d_model",
    "intermediate_size": "d_ff",
    "num_attention_heads": "n_heads",
    "num_hidden_layers": "n_layers",
    "num_key_value_heads": "n_kv_heads",
    "head_dim": "d_head",
    "rms_norm_eps": "norm_eps",
    "attention_bias": "bias",
    "num_experts": "n_experts",
    "num_experts_per_tok": "top_k",
    "moe_intermediate_size": "d_expert",
    "rope_theta": "rope_base",
    "rope_local_base_freq": "local_rope_base",
    "max_position_embeddings": "max_len",
    "tie_word_embeddings": "tied",
}
ACTIVATIONS = {"silu": "swiglu", "gelu_pytorch_tanh": "geglu"}
# What a family does without saying so in its files.
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"tied": False},
    "mistral": {"tied": False},
    "qwen3": {"tied": False, "qk_norm": True},
    "qwen3_moe": {"tied": False, "qk_norm": True},
    "gemma3_text": {"qk_norm": True, "placement": "both", "scale_embeddings": True},
}
# Fields that can be left out of account as long as they have one of these values.
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "mlp_bias": (False, None),
    "rope_scaling": (None,),
    "rope_interleaved": (False,),
    "pretraining_tp": (1,),
    "use_sliding_window": (False,),
    "mlp_only_layers": ([], None),
    "decoder_sparse_step": (1,),
    "norm_topk_prob": (True,),
    "attn_logit_softcapping": (None,),
    "final_logit_softcapping": (None,),
    "use_bidirectional_attention": (False, None),
}
# Fields that say nothing about what the model computes.
IRRELEVANT = {
    *("_name_or_path", "architectures", "attention_dropout", "cache_implementation", "dtype"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "initializer_range", "is_llama_config"),
    *("max_window_layers", "output_router_logits", "router_aux_loss_coef", "torch_dtype"),
    *("transformers.js_config", "transformers_version", "use_cache"),
}


def read_config(json: Mapping[str, Any], *, ignore: Collection[str] = ()) -> DecoderConfig:
    """The configuration in a Hugging Face ``config.json``, already parsed.

    Args:
        ignore: fields to leave out of account although they change what the model computes, for
            instance ``["rope_scaling"]`` to count the parameters of a Llama 3.

    Raises:
        ValueError: the family, a field or its value is not known here, a field is missing, or the
            sizes contradict one another.
    """
    known = {key: value for key, value in json.items() if key not in {*ignore, *IRRELEVANT}}
    family = known.pop("model_type", None)
    if family not in FAMILIES:
        raise ValueError(
            f"model_type must be one of {', '.join(FAMILIES)}, got {family!r}: another family "
            "computes something else, even where its fields have the same names"
        )
    values: dict[str, Any] = dict(FAMILIES[family])
    _read_rope_parameters(known)
    values.update(_read_windows(known))
    activation = known.pop("hidden_act", None) or known.pop("hidden_activation", "silu")
    known.pop("hidden_activation", None)
    if activation not in ACTIVATIONS:
        raise ValueError(f"hidden_act must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
    values["activation"] = ACTIVATIONS[activation]
    scalar = known.pop("query_pre_attn_scalar", None)
    for key, value in known.items():
        if key in NAMES:
            values[NAMES[key]] = value
        elif key not in NEUTRAL:
            raise ValueError(
                f"the field {key!r} is not known here, got {value!r}: it may change what the model "
                f"computes; to read the rest, pass ignore=[{key!r}]"
            )
        elif value not in NEUTRAL[key]:
            raise ValueError(
                f"{key} must be {NEUTRAL[key][0]!r}, got {value!r}: nothing here computes that; to "
                f"read the rest, pass ignore=[{key!r}]"
            )
    missing = {"vocab", "d_model", "d_ff", "n_heads", "n_layers"} - values.keys()
    if missing:
        names = sorted(key for key, name in NAMES.items() if name in missing)
        raise ValueError(f"fields are missing: {', '.join(names)}; is it a whole config.json?")
    config = DecoderConfig(**values)
    if scalar is not None and scalar != config.resolved_d_head:
        raise ValueError(
            f"query_pre_attn_scalar must be d_head={config.resolved_d_head}, got {scalar}: scores "
            "are divided by √d_head here"
        )
    return config


def _read_rope_parameters(known: dict[str, Any]) -> None:
    """Replace ``rope_parameters``, as files of transformers 5 have them, by ``rope_theta``."""
    parameters = known.pop("rope_parameters", None)
    if parameters is None:
        return
    if not isinstance(parameters, Mapping) or parameters.get("rope_type") != "default":
        raise ValueError(
            f"rope_parameters must have rope_type 'default', got {parameters!r}: scaled rotary "
            "positions are not computed here; to read the rest, pass ignore=['rope_parameters']"
        )
    unknown = sorted(map(str, parameters.keys() - {"rope_type", "rope_theta"}))
    if unknown or "rope_theta" not in parameters:
        raise ValueError(
            f"rope_parameters must have rope_type and rope_theta alone, got {dict(parameters)!r}: "
            f"{repr(unknown[0]) + ' is not known here' if unknown else 'rope_theta is missing'}; "
            "to read the rest, pass ignore=['rope_parameters']"
        )
    known["rope_theta"] = parameters["rope_theta"]


def _read_windows(known: dict[str, Any]) -> dict[str, Any]:
    """``windows`` from sliding_window with layer_types or sliding_window_pattern."""
    window = known.pop("sliding_window", None)
    types, pattern = known.pop("layer_types", None), known.pop("sliding_window_pattern", None)
    pattern = known.pop("_sliding_window_pattern", pattern)
    if types is not None:
        if not isinstance(types, list) or not all(isinstance(each, str) for each in types):
            raise ValueError(f"layer_types must be a list of names, got {types!r}")
        by_type = {"full_attention": None, "sliding_attention": window}
        unknown = set(types) - by_type.keys()
        if unknown:
            raise ValueError(
                f"layer_types must be {' or '.join(by_type)}, got {sorted(unknown)[0]!r}: other "
                "kinds of layers are not computed here"
            )
        return {"windows": tuple(by_type[each] for each in types)}
    if window is None or known.get("use_sliding_window") is False:
        return {}
    if pattern is None:
        return {"windows": (window,)}
    if type(pattern) is not int or not 1 <= pattern <= 1000:
        raise ValueError(f"sliding_window_pattern must be a number of layers, got {pattern!r}")
    return {"windows": (window,) * (pattern - 1) + (None,)}
