"""Correct answers to the items of lesson 17, written in other ways: all must pass."""

import math

import torch
from torch.nn import functional as F

from course_lib.model import shift_matrix


def rms_by_division(x, weight, eps=1e-6):
    wide = x.float() if x.dtype == torch.float16 else x
    root = torch.sqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide / root).to(x.dtype) * weight


def rms_all_in_float32(x, weight, eps=1e-6):
    """The weight in float32, too, and one rounding at the end."""
    kind = x.dtype
    x, weight = x.to(torch.float32), weight.to(torch.float32)
    return (x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * weight).to(kind)


def rms_by_the_norm(x, weight, eps=1e-6):
    """Lengths: the sum of squares, divided by D under the root."""
    wide = x.double()
    d_model = x.size(-1)
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    root = torch.sqrt(length**2 / d_model + eps)
    return (wide / root).type_as(x) * weight


def rms_by_einsum(x, weight, eps=1e-6):
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    total = torch.einsum("...d,...d->...", wide, wide)
    factor = (total / wide.shape[-1] + eps) ** -0.5
    return torch.einsum("...d,...,d->...d", wide, factor, weight.to(wide.dtype)).to(x.dtype)


def rms_vector_by_vector(x, weight, eps=1e-6):
    rows = []
    for row in x.reshape(-1, x.size(-1)):
        wide = row.float() if row.dtype == torch.float16 else row
        root = (sum(number * number for number in wide) / len(wide) + eps).sqrt()
        rows.append((wide / root).to(x.dtype) * weight)
    return torch.stack(rows).reshape(x.shape)


def rms_by_the_largest(x, weight, eps=1e-6):
    """No float32: each vector is divided by its largest number before it is squared."""
    largest = x.abs().amax(-1, keepdim=True).clamp(min=1.0)
    small = x / largest
    mean_square = small.square().mean(-1, keepdim=True) + eps / largest.float().square()
    return (small / mean_square.sqrt()).to(x.dtype) * weight


def rms_by_variance_and_mean(x, weight, eps=1e-6):
    """The mean square is the variance plus the square of the mean."""
    wide = x if x.dtype == torch.float64 else x.float()
    variance = wide.var(-1, correction=0, keepdim=True)
    square = variance + wide.mean(-1, keepdim=True) ** 2
    return (wide / (square + eps).sqrt()).to(x.dtype) * weight


def rms_by_dots(x, weight, eps=1e-6):
    wide = x.to(torch.float64)
    square = (wide[..., None, :] @ wide[..., None])[..., 0] / x.size(-1)
    return (weight * wide * torch.rsqrt(square + eps)).to(x.dtype)


def width_by_whole_numbers(d_ff, multiple_of=1):
    return -(-2 * d_ff // (3 * multiple_of)) * multiple_of


def width_by_a_loop(d_ff, multiple_of=1):
    width = multiple_of
    while 3 * width < 2 * d_ff:
        width += multiple_of
    return width


def width_by_a_remainder(d_ff, multiple_of=1):
    steps, left = divmod(2 * d_ff, 3 * multiple_of)
    return (steps + (left > 0)) * multiple_of


def width_as_llama_writes_it(d_ff, multiple_of=1):
    width = math.ceil(2 * d_ff / 3)
    return multiple_of * ((width + multiple_of - 1) // multiple_of)


def width_as_a_float_first(d_ff, multiple_of=1):
    return math.ceil(d_ff / 1.5 / multiple_of) * multiple_of


def width_of_equal_weights(d_ff, multiple_of=1):
    ungated = 2 * 8 * d_ff
    return next(w for w in range(multiple_of, 10**9, multiple_of) if 3 * 8 * w >= ungated)


def rotate_as_hugging_face(x, positions, base=10_000.0):
    d_head = x.shape[-1]
    inverse = 1.0 / (base ** (torch.arange(0, d_head, 2, dtype=torch.int64).float() / d_head))
    angles = positions[:, None].float() @ inverse[None]
    doubled = torch.cat((angles, angles), dim=-1)
    cos, sin = doubled.cos().to(x.dtype), doubled.sin().to(x.dtype)
    first, second = x[..., : d_head // 2], x[..., d_head // 2 :]
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def rotate_by_complex_numbers(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    pairs = torch.complex(x[..., :half].double(), x[..., half:].double())
    frequencies = torch.pow(base, -torch.arange(half, dtype=torch.float64) / half)
    angles = positions.double()[:, None] * frequencies
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


def rotate_token_by_token(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    tokens = []
    for index, position in enumerate(positions.tolist()):
        u, v = x[:, :, index, :half], x[:, :, index, half:]
        angles = [position / base ** (2 * i / x.size(-1)) for i in range(half)]
        cos = torch.tensor([math.cos(a) for a in angles], dtype=x.dtype)
        sin = torch.tensor([math.sin(a) for a in angles], dtype=x.dtype)
        tokens.append(torch.cat((cos * u - sin * v, sin * u + cos * v), dim=-1))
    return torch.stack(tokens, dim=2)


def rotate_pair_by_pair(x, positions, base=10_000.0):
    half, out = x.size(-1) // 2, torch.empty_like(x)
    columns = [None] * x.size(-1)
    for i in range(half):
        a = positions.to(torch.float64) / base ** (i / half)
        cos, sin = torch.cos(a).to(x), torch.sin(a).to(x)
        u, v = x[..., i], x[..., i + half]
        columns[i], columns[i + half] = u * cos - v * sin, v * cos + u * sin
    return torch.stack(columns, dim=-1).to(out.dtype)


def rotate_by_matrices(x, positions, base=10_000.0):
    """A matrix of 2 × 2 for each position and pair."""
    half = x.size(-1) // 2
    a = positions[:, None] * torch.exp(-math.log(base) * torch.arange(half) / half)
    rows = torch.stack((a.cos(), -a.sin(), a.sin(), a.cos()), dim=-1).unflatten(-1, (2, 2))
    pairs = x.unflatten(-1, (2, half))  # (..., index in the pair, pair)
    return torch.einsum("sipq,bhsqi->bhspi", rows.to(x.dtype), pairs).flatten(-2)


def rotate_by_the_shift_matrix(x, positions, base=10_000.0):
    """Lesson 01's matrix turns the other way and has its pairs side by side."""
    d_head = x.size(-1)
    order = torch.arange(d_head).view(2, -1).T.flatten()
    inverse = torch.argsort(order)
    turned = []
    for index, position in enumerate(positions.tolist()):
        matrix = shift_matrix(d_head, -position, base=base).to(x.dtype)
        turned.append((x[:, :, index, order] @ matrix.T)[..., inverse])
    return torch.stack(turned, dim=2)


def rotate_by_copying_pairs(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    frequencies = base ** (-2.0 * torch.arange(half, dtype=torch.float64) / (2 * half))
    angles = torch.einsum("s,i->si", positions.to(torch.float64), frequencies)
    cos, sin = (wave(angles)[None, None].type_as(x) for wave in (torch.cos, torch.sin))
    u, v = torch.split(x, half, dim=-1)
    return torch.cat([u.mul(cos).sub(v.mul(sin)), u.mul(sin).add(v.mul(cos))], -1)


def rotate_by_length_and_angle(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    u, v = x[..., :half].double(), x[..., half:].double()
    length, angle = torch.hypot(u, v), torch.atan2(v, u)
    angle = angle + positions[:, None] * base ** -(torch.arange(half).double() / half)
    return torch.cat((length * torch.cos(angle), length * torch.sin(angle)), dim=-1).to(x.dtype)


def rotate_into_a_new_tensor(x, positions, base=10_000.0):
    half = x.size(-1) // 2
    angles = positions.double().unsqueeze(1) / base ** (torch.arange(half).double() / half)
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    out = torch.zeros_like(x)
    out[..., :half] = x[..., :half] * cos - x[..., half:] * sin
    out[..., half:] = x[..., :half] * sin + x[..., half:] * cos
    return out


def count_matrix_by_matrix(config):
    c = config
    d, e = c.d_model, c.resolved_d_head
    h, g = c.n_heads, c.resolved_n_kv_heads
    shapes = [(h * e, d), (g * e, d), (g * e, d), (d, h * e)]
    shapes += [(c.d_ff, d), (c.d_ff, d), (d, c.d_ff), (d,), (d,)]
    if c.qk_norm:
        shapes += [(e,), (e,)]
    if c.placement == "both":
        shapes += [(d,), (d,)]
    total = c.n_layers * sum(math.prod(shape) for shape in shapes)
    total += c.vocab * d + d
    if not c.tied:
        total += c.vocab * d
    return total


def count_block_by_block(config):
    width = config.d_head or config.d_model // config.n_heads
    heads = 2 * config.n_heads + 2 * (config.n_kv_heads or config.n_heads)
    total = config.d_model
    for _ in range(config.n_layers):
        total += config.d_model * width * heads + 3 * config.d_ff * config.d_model
        total += {"pre": 2, "both": 4}[config.placement] * config.d_model
        total += 2 * width if config.qk_norm else 0
    return total + config.vocab * config.d_model * (2 - config.tied)


def count_by_parts(config):
    c = config
    one = {
        "q": c.d_model * c.n_heads * c.resolved_d_head,
        "k": c.d_model * c.resolved_n_kv_heads * c.resolved_d_head,
        "ff": c.d_model * c.d_ff,
    }
    norm = c.d_model
    block = 2 * one["q"] + 2 * one["k"] + 3 * one["ff"] + 2 * norm
    block += 2 * norm if c.placement != "pre" else 0
    block += int(c.qk_norm) * (c.resolved_d_head + c.resolved_d_head)
    tables = [c.vocab * c.d_model] + [c.vocab * c.d_model] * (not c.tied)
    return sum(tables) + sum([block] * c.n_layers) + norm


def count_factored(config):
    c = config
    e = c.resolved_d_head
    per_row = 2 * e * (c.n_heads + c.resolved_n_kv_heads) + 3 * c.d_ff
    per_row += 2 + 2 * (c.placement == "both")
    rows = c.n_layers * per_row + c.vocab * (1 if c.tied else 2) + 1
    return rows * c.d_model + c.n_layers * 2 * e * c.qk_norm


def rows_by_view(rows, n_heads):
    width = rows.shape[1]
    return rows.view(n_heads, -1, 2, width).transpose(1, 2).reshape(-1, width)


def rows_fixed(rows, n_heads):
    d_head = rows.size(0) // n_heads
    by_head = rows.unflatten(0, (n_heads, d_head))
    by_pair = by_head.unflatten(1, (d_head // 2, 2))
    return by_pair.transpose(1, 2).flatten(0, 2)


def rows_by_their_numbers(rows, n_heads):
    d_head = len(rows) // n_heads
    order = [
        head * d_head + 2 * pair + index
        for head in range(n_heads)
        for index in (0, 1)
        for pair in range(d_head // 2)
    ]
    return rows[order]


def rows_head_by_head(rows, n_heads):
    heads = rows.chunk(n_heads)
    return torch.cat([torch.cat((head[::2], head[1::2])) for head in heads])


def rows_by_einsum(rows, n_heads):
    by_pair = rows.reshape(n_heads, -1, 2, rows.size(1))
    return torch.einsum("hpqd->hqpd", by_pair).reshape(rows.shape)


def rows_by_permute(rows, n_heads):
    four = rows.unflatten(0, (n_heads, -1, 2))
    return four.permute(0, 2, 1, 3).contiguous().view(rows.shape)


def rows_by_a_permutation_matrix(rows, n_heads):
    d_head = rows.size(0) // n_heads
    order = torch.arange(d_head).view(-1, 2).T.flatten()
    matrix = F.one_hot(order, d_head).to(rows.dtype)
    return (matrix @ rows.unflatten(0, (n_heads, d_head))).flatten(0, 1)


def rows_with_the_exchange_in_another_line(rows, n_heads):
    d_head = rows.size(0) // n_heads
    by_head = rows.unflatten(0, (n_heads, d_head))
    by_index = by_head.unflatten(1, (d_head // 2, 2)).movedim(2, 1)
    return by_index.flatten(0, 2)


ALTERNATIVES = {
    "17.rms_norm": (
        rms_by_division,
        rms_all_in_float32,
        rms_by_the_norm,
        rms_by_einsum,
        rms_vector_by_vector,
        rms_by_the_largest,
        rms_by_variance_and_mean,
        rms_by_dots,
    ),
    "17.swiglu_width": (
        width_by_whole_numbers,
        width_by_a_loop,
        width_by_a_remainder,
        width_as_llama_writes_it,
        width_as_a_float_first,
        width_of_equal_weights,
    ),
    "17.rotate": (
        rotate_as_hugging_face,
        rotate_by_complex_numbers,
        rotate_token_by_token,
        rotate_pair_by_pair,
        rotate_by_matrices,
        rotate_by_the_shift_matrix,
        rotate_by_copying_pairs,
        rotate_by_length_and_angle,
        rotate_into_a_new_tensor,
    ),
    "17.count_parameters": (
        count_matrix_by_matrix,
        count_block_by_block,
        count_by_parts,
        count_factored,
    ),
    "17.bug": (
        rows_fixed,
        rows_by_view,
        rows_by_their_numbers,
        rows_head_by_head,
        rows_by_einsum,
        rows_by_permute,
        rows_by_a_permutation_matrix,
        rows_with_the_exchange_in_another_line,
    ),
}
