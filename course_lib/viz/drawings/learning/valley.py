"""Optimizers in a long narrow valley: contour lines of a quadratic, and a path in each panel."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.viz.drawings.colours import ink
from course_lib.viz.drawings.drawing import WIDTH, Drawing, Panel
from course_lib.viz.drawings.marks import Point, brief, element, group, label, number, text_width

TOP, BELOW, EDGE = 62.0, 34.0, 10.0  # above, below and beside the valley
TALLEST, FLATTEST = 320.0, 90.0  # of the valley
LEVELS = (1.0, 0.5, 0.22, 0.08, 0.02)  # of the height at the start
MOST_STEPS = 200


def draw_valley(
    hessian: Float[Tensor, "2 2"],
    paths: Mapping[str, Float[Tensor, "points 2"]],
    *,
    lit: str,
    minimum: tuple[float, float] = (0.0, 0.0),
    caption: str = "",
) -> Drawing:
    """Draw paths over the contour lines of ½ (w − m)ᵀ H (w − m), a panel for each, to one scale.

    One unit is as long across as it is up, so the valley is as narrow as it looks. The loss at
    each path's end is computed here.

    Args:
        hessian: H, symmetric and positive definite.
        paths: name -> the points from the common start on; the steps are drawn as dots.
        lit: the name of the path that the text is about; the others are grey.
        minimum: m.
        caption: one sentence below.

    Raises:
        ValueError: the matrix has no valley, a path is too long or leaves for infinity, the paths
            do not start at one point, or the valley is too steep for a panel.
    """
    values, vectors = _valley(hessian)
    points = {name: path.double().reshape(-1, 2) for name, path in paths.items()}
    if lit not in points:
        raise ValueError(f"expected lit to be one of {', '.join(points)}, got {lit!r}")
    for name, path in points.items():
        if not 2 <= len(path) <= MOST_STEPS + 1 or not bool(path.isfinite().all()):
            raise ValueError(
                f"expected paths of 1 to {MOST_STEPS} finite steps, got {name!r} with "
                f"{len(path) - 1}, the last at {path[-1:].tolist()}"
            )
    first = next(iter(points.values()))[0]
    if any(not torch.equal(path[0], first) for path in points.values()):
        raise ValueError(
            "expected paths that start at one point, got "
            + ", ".join(f"{name} at {path[0].tolist()}" for name, path in points.items())
        )
    middle = torch.tensor(minimum, dtype=torch.float64)

    def loss(at: Tensor) -> float:
        return float((at - middle) @ hessian.double() @ (at - middle)) / 2

    if loss(first) <= 0:
        raise ValueError("expected a start above the minimum, got the minimum itself")
    rings = [_ring(values, vectors, middle, level * loss(first)) for level in LEVELS]
    seen = torch.cat([rings[0], *points.values()])
    low, high = seen.min(dim=0).values, seen.max(dim=0).values
    across, up = (high - low).tolist()
    scale = min((WIDTH - 2 * EDGE) / across, TALLEST / up)
    tall = max(FLATTEST, scale * up + 2 * EDGE)
    centre = ((low + high) / 2).tolist()

    def spot(at: Tensor) -> Point:
        x, y = at.tolist()
        return (
            WIDTH / 2 + scale * (x - centre[0]),
            TOP + tall / 2 - scale * (y - centre[1]),
        )

    contours = "".join(_curve([spot(at) for at in ring], "line", width=1) for ring in rings)
    contours = group(contours, opacity=0.5)
    return Drawing(
        *(
            _panel(
                name,
                [spot(at) for at in path],
                contours,
                goal=spot(middle),
                losses=(loss(path[0]), loss(path[-1])),
                narrow=math.sqrt(values[1] / values[0]),
                lit=name == lit,
                height=TOP + tall + BELOW,
            )
            for name, path in points.items()
        ),
        caption=caption,
        wide=len(points) == 3,
    )


def _valley(hessian: Float[Tensor, "2 2"]) -> tuple[list[float], Tensor]:
    """The curvatures along and across the valley, and their directions as columns."""
    matrix = hessian.double()
    if tuple(matrix.shape) != (2, 2) or not torch.allclose(matrix, matrix.T):
        raise ValueError(f"expected a symmetric 2 × 2 matrix, got {hessian.tolist()}")
    values, vectors = torch.linalg.eigh(matrix)
    if float(values[0]) <= 0:
        raise ValueError(
            "expected a matrix that is positive definite, or there is no valley, got the "
            f"eigenvalues {values.tolist()}"
        )
    return values.tolist(), vectors


def _ring(values: list[float], vectors: Tensor, middle: Tensor, level: float) -> Tensor:
    """Points of the ellipse at whose every point the loss is ``level``."""
    angles = torch.linspace(0, 2 * math.pi, 97, dtype=torch.float64)
    axes = torch.tensor([math.sqrt(2 * level / value) for value in values], dtype=torch.float64)
    return middle + torch.stack([angles.cos(), angles.sin()], dim=1) * axes @ vectors.T


def _panel(
    name: str,
    dots: list[Point],
    contours: str,
    *,
    goal: Point,
    losses: tuple[float, float],
    narrow: float,
    lit: bool,
    height: float,
) -> Panel:
    steps = len(dots) - 1
    colour = "accent" if lit else "soft"
    path = _curve(dots, colour, width=2 if lit else 1.4)
    marks = "".join(_dot(dot, colour, radius=3.2 if lit else 2.8) for dot in dots[1:-1])
    start, end = dots[0], dots[-1]
    marks += _dot(start, "page", radius=5, rim=colour) + _dot(end, colour, radius=5.5)
    x, y = goal
    cross = element(
        "path",
        d=f"M{number(x - 6)} {number(y)}h12M{number(x)} {number(y - 6)}v12",
        stroke=ink("ink"),
        stroke_width=2,
    )
    below = height - 12
    words = f"after {steps} steps: loss {_short(losses[1])}"
    half = text_width(words, bold=True) / 2
    at = min(max(end[0], half), WIDTH - half)
    first = f"start: loss {_short(losses[0])}"
    left = min(max(start[0], text_width(first, 12) / 2), WIDTH - text_width(first, 12) / 2)
    leads = element(
        "path",
        d=f"M{number(end[0])} {number(end[1] + 8)}V{number(below - 12)}"
        f"M{number(start[0])} {number(start[1] - 8)}V{number(TOP - 12)}",
        stroke=ink("line"),
        stroke_dasharray="2 3",
    )
    return Panel(
        title=name,
        description=(
            f"In a valley {brief(narrow)} times as long as it is wide, {name} goes from the loss "
            f"{_short(losses[0])} to {_short(losses[1])} in {steps} steps; the cross is the "
            "minimum."
        ),
        body=contours
        + leads
        + path
        + cross
        + group(marks)
        + label((left, TOP - 20), first, cls="aside")
        + label((at, below), words, cls="bold", colour=colour if lit else None),
        height=height,
    )


def _short(loss: float) -> str:
    """A loss with two figures that count."""
    if loss >= 10:
        return f"{loss:.0f}"
    return f"{loss:.1f}" if loss >= 1 else f"{loss:.2f}" if loss >= 0.095 else f"{loss:.1g}"


def _curve(points: list[Point], colour: str, *, width: float) -> str:
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return element(
        "path",
        d=d,
        fill="none",
        stroke=ink(colour),
        stroke_width=float(width),
        stroke_linejoin="round",
    )


def _dot(at: Point, colour: str, *, radius: float, rim: str | None = None) -> str:
    return element(
        "circle",
        cx=float(at[0]),
        cy=float(at[1]),
        r=float(radius),
        fill=ink(colour),
        stroke=ink(rim) if rim else None,
        stroke_width=2 if rim else None,
    )
