// @ts-check
// One head as a matrix: a query is a row, a key is a column.

import { LABEL, drawTag, drawText, hatch, paintCells, truncate, widestLabel, widthOf } from "./canvas.js";
import { colourScale, isBright } from "./colour.js";
import { strongestKey } from "./data.js";

/** @import { Scene } from "./scene.js" */
/** @import { View } from "./views.js" */

/**
 * @typedef {object} HeatmapLayout
 * @property {number} left of the matrix
 * @property {number} top
 * @property {number} cell the side of a cell
 * @property {boolean} horizontal whether key labels are horizontal; otherwise they are vertical
 * @property {number} labelEvery label one in so many rows and columns
 * @property {number} rows
 * @property {number} columns
 * @property {number} width
 * @property {number} height
 */

const MOST_NUMBERED_CELLS = 400;

/** @type {View<HeatmapLayout>} */
export const heatmapView = {
  layout({ axes }, width) {
    const columns = axes.keys.length, rows = axes.queries.length;
    const widest = widestLabel(axes.queries, Math.max(86, Math.min(150, width * 0.3)));
    const left = Math.ceil(Math.max(86, widest)) + 10;
    const available = (width - left - 12) / columns;
    const cell = Math.max(4, Math.min(52, Math.floor(available), Math.max(10, Math.floor(680 / rows))));
    const horizontal = axes.keys.every((key) => widthOf(key.text, LABEL, 600) <= cell - 4);
    const top = 26 + (horizontal ? 18 : Math.ceil(widestLabel(axes.keys, 110)) + 8);
    return {
      left, top, cell, horizontal, labelEvery: Math.ceil(14 / cell), rows, columns,
      width: left + columns * cell + 12, height: top + rows * cell + 8,
    };
  },

  frame(ctx, { axes, theme }, { left, top, cell, horizontal, labelEvery, rows, columns }) {
    const soft = { size: 11, colour: theme.soft };
    drawText(ctx, "key (is read) →", left, 9, soft);
    drawText(ctx, "query (reads) ↓", left - 8, top - 10, { ...soft, align: "right" });
    hatch(ctx, theme, left, top, columns * cell, rows * cell);
    axes.queries.forEach((query, q) => {
      if (q % labelEvery) return;
      const colour = query.pad ? theme.soft : theme.ink;
      drawText(ctx, truncate(query.text, left - 14), left - 8, top + (q + 0.5) * cell, { align: "right", colour });
    });
    axes.keys.forEach((key, k) => {
      if (k % labelEvery) return;
      const colour = key.pad ? theme.soft : theme.ink, x = left + (k + 0.5) * cell;
      if (horizontal) return drawText(ctx, key.text, x, top - 11, { align: "center", colour });
      ctx.save();
      ctx.translate(x, top - 6);
      ctx.rotate(-Math.PI / 2);
      drawText(ctx, truncate(key.text, top - 34), 0, 0, { colour });
      ctx.restore();
    });
  },

  cells(ctx, scene, layout) {
    const { matrix, axes, theme, palette, limits, state } = scene, { left, top, cell } = layout;
    paintCells(ctx, matrix, palette, limits, left, top, matrix.columns * cell, matrix.rows * cell);
    // The rows of padding mean nothing: they are shown, but faded.
    ctx.fillStyle = theme.back;
    ctx.globalAlpha = 0.65;
    axes.queries.forEach((query, q) => {
      if (query.pad) ctx.fillRect(left, top + q * cell, matrix.columns * cell, cell);
    });
    ctx.globalAlpha = 1;
    if (cell >= 34 && matrix.columns * matrix.rows <= MOST_NUMBERED_CELLS) drawNumbers(ctx, scene, layout);
    if (state.gold) drawGold(ctx, scene, layout);
  },

  over(ctx, { axes, theme, locked }, { left, top, cell, rows, columns }, focus) {
    if (locked !== null) {
      ctx.fillStyle = theme.back;
      ctx.globalAlpha = 0.6;
      ctx.fillRect(left, top, columns * cell, locked * cell);
      ctx.fillRect(left, top + (locked + 1) * cell, columns * cell, (rows - locked - 1) * cell);
      ctx.globalAlpha = 1;
    }
    const query = focus?.query ?? locked;
    if (query === null) return;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2;
    ctx.strokeRect(left - 1, top + query * cell - 1, columns * cell + 2, cell + 2);
    drawTag(ctx, theme, axes.queries[query].text, left - 10, top + (query + 0.5) * cell, "right", left - 20);
    if (focus?.key === undefined) return;
    const x = left + focus.key * cell;
    ctx.strokeRect(x - 1, top + query * cell - 1, cell + 2, cell + 2);
    const text = axes.keys[focus.key].text, wide = widthOf(truncate(text, 140, LABEL, 600), LABEL, 600) + 8;
    const start = Math.max(4, Math.min(x + cell / 2 - wide / 2, left + columns * cell + 8 - wide));
    drawTag(ctx, theme, text, start + 4, top - 11, "left", 140);
  },

  hit({ left, top, cell, rows, columns }, x, y) {
    const query = Math.floor((y - top) / cell), key = Math.floor((x - left) / cell);
    if (query < 0 || query >= rows || key >= columns) return null;
    return key < 0 ? { query } : { query, key };
  },
};

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {HeatmapLayout} layout
 */
function drawNumbers(ctx, { matrix, limits, palette }, { left, top, cell }) {
  const colourAt = colourScale(palette, limits), digits = matrix.step === "weights" ? 2 : 1;
  matrix.values.forEach((value, i) => {
    if (matrix.masked[i]) return;
    const x = left + ((i % matrix.columns) + 0.5) * cell;
    const y = top + (Math.floor(i / matrix.columns) + 0.5) * cell;
    const colour = isBright(colourAt(value)) ? "#1d2430" : "#ffffff";
    drawText(ctx, value.toFixed(digits), x, y + 0.5, { size: 10.5, align: "center", colour });
  });
}

/**
 * Rings around the gold links, and a dot at the strongest key of each query that has one.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {HeatmapLayout} layout
 */
function drawGold(ctx, { matrix, axes, theme }, { left, top, cell }) {
  const radius = Math.max(2.5, Math.min(9, cell * 0.36));
  /** @param {number} query @param {number} key @param {number} r */
  const circle = (query, key, r) => {
    ctx.beginPath();
    ctx.arc(left + (key + 0.5) * cell, top + (query + 0.5) * cell, r, 0, 2 * Math.PI);
  };
  /** @param {string} colour @param {number} width */
  const stroke = (colour, width) => {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.stroke();
  };
  for (const { query, key } of axes.gold) {
    circle(query, key, radius);
    stroke(theme.halo, 4);
    stroke(theme.gold, 2);
  }
  for (const query of new Set(axes.gold.map((link) => link.query))) {
    const key = strongestKey(matrix, query);
    if (key < 0) continue;
    circle(query, key, Math.max(1.5, radius * 0.4));
    stroke(theme.halo, 1.5);
    ctx.fillStyle = theme.gold;
    ctx.fill();
  }
}
