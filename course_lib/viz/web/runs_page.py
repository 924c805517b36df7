"""The curves of training runs as one interactive HTML page that needs no other file."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from course_lib.viz.plots.plot_runs import (
    PANELS,
    Curve,
    RunCurves,
    curves_of,
    distinct_names,
    for_people,
)

PAGE = Path(__file__).parents[2] / "assets" / "curves.html"
POINTS = 1500  # of a curve, at most: more than the page is wide
COLUMNS = (
    ("loss", "training loss", "{:.4f}"),
    ("valid_loss", "validation loss", "{:.4f}"),
    ("valid_accuracy_teacher_forced", "teacher-forced accuracy", "{:.1%}"),
    ("valid_exact", "exact match, autoregressive", "{:.1%}"),
    ("valid_bleu", "BLEU, autoregressive", "{:.1f}"),
)


def runs_page(histories: Sequence[RunCurves]) -> str:
    """The same curves as one HTML file, which needs neither a network nor a second file.

    Names and numbers may come from anyone: all of them are escaped.

    Raises:
        ValueError: there is nothing to draw.
    """
    curves = curves_of(histories)
    shown = {curve.panel for curve in curves}
    names = distinct_names([history.name for history in histories])
    data = {
        "runs": names,
        "panels": [
            asdict(panel)
            | {"small": panel.small, "log": panel.key == "loss", "zero": panel.key != "loss"}
            | {"height": 320 if panel.key == "loss" else 180}
            for panel in PANELS
            if panel.key in shown
        ],
        "curves": [_as_json(curve, histories[curve.run].minutes) for curve in curves],
    }
    title = f"{len(names)} training runs compared" if len(names) > 1 else names[0]
    summaries = [
        (f"<b>{html.escape(name)}</b>: " if len(names) > 1 else "")
        + html.escape(for_people(history.summary, 200))
        for name, history in zip(names, histories, strict=True)
    ]
    # No value can contain a mark: "<" is escaped in all of them.
    marks = {
        "title": html.escape(title),
        "summaries": "".join(f"<li>{text}</li>" for text in summaries),
        "table": _table(histories, names),
        "data": json.dumps(data, allow_nan=False).replace("<", r"\u003c"),
    }
    page = PAGE.read_text("utf-8")
    for mark, text in marks.items():
        page = page.replace(f"<!--{mark}-->", text)
    return page


def _as_json(curve: Curve, minutes: Sequence[float]) -> dict[str, Any]:
    kept = thin(curve.values)
    steps = curve.steps[kept].tolist()
    values = [float(f"{v:.6g}") if math.isfinite(v) else None for v in curve.values[kept]]
    return {
        "run": curve.run,
        "panel": curve.panel,
        "kind": curve.kind,
        "steps": steps,
        "minutes": [round(minutes[step - 1], 3) for step in steps],
        "values": values,
    }


def _table(histories: Sequence[RunCurves], names: Sequence[str]) -> str:
    """The rows of the table: each validation or, before there is one, the last step."""
    head = ["run"] if len(names) > 1 else []
    head += ["step", "minutes", "learning rate", *(heading for _, heading, _ in COLUMNS)]
    body = []
    for name, history in zip(names, histories, strict=True):
        rows = history.epochs or [{"step": len(history.losses), "loss": history.losses[-1]}]
        for row in rows:
            step = int(row["step"])
            rate = (
                f"{history.learning_rates[step - 1]:.3g}"
                if step <= len(history.learning_rates)
                else "–"
            )
            cells = [name] if len(names) > 1 else []
            cells += [f"{step:,}", f"{history.minutes[step - 1]:.1f}", rate]
            body.append(cells + [f.format(row[k]) if k in row else "–" for k, _, f in COLUMNS])
    heads = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in cells) for cells in body)
    return f"<thead><tr>{heads}</tr></thead><tbody><tr>{'</tr><tr>'.join(lines)}</tr></tbody>"


def thin(values: np.ndarray, count: int = POINTS) -> np.ndarray:
    """Where to take about ``count`` of many values so that no peak is lost: indices, in order."""
    if len(values) <= count:
        return np.arange(len(values))
    parts = np.array_split(np.arange(len(values)), count // 2)
    ends = [part[[values[part].argmin(), values[part].argmax()]] for part in parts]
    return np.unique(np.concatenate([[0, len(values) - 1], *ends]))
