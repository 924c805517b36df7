// @ts-check
// One head as a large heatmap on a canvas: a query is a row, a key is a column. Lengths are CSS pixels.

import { LABEL, drawText, hatch, paintCells, resizeCanvas, truncate, widthOf } from "../explorer/drawing/canvas.js";
import { colourScale, isBright } from "../explorer/drawing/colour.js";
import { CELL, KEY_LABEL, LABEL_HEIGHT, PUNCTUATION, QUERY_LABEL } from "./sizes.js";

/** @import { Palette, Theme } from "../explorer/drawing/colour.js" */
/** @import { Matrix as Cells } from "../explorer/data/data.js" */

/** @typedef {{ query: number, key: number }} Cell */

/**
 * @typedef {object} Heatmap
 * @property {Cells} cells
 * @property {string[]} queries
 * @property {string[]} keys
 * @property {Theme} theme
 * @property {Palette} palette
 * @property {number | null} marked the row of the chosen step
 * @property {Cell | null} focus
 */

/** @typedef {{ left: number, top: number, cell: number, rows: number, columns: number }} HeatLayout */

const LIMITS = /** @type {[number, number]} */ ([0, 1]); // the same colour means the same weight everywhere
const SMALLEST_NUMBER = 0.005; // smaller weights would read 0.00

/** @param {string} word */
const labelOf = (word) => (PUNCTUATION.test(word) ? `“${word}”` : word);

/**
 * @param {string[]} queries
 * @param {string[]} keys
 * @param {number} width that is available
 * @returns {HeatLayout}
 */
export function layoutHeatmap(queries, keys, width) {
  const widest = (/** @type {string[]} */ words, /** @type {number} */ most) =>
    Math.ceil(Math.min(most, Math.max(...words.map((word) => widthOf(labelOf(word), LABEL, 600)))));
  const { narrowest, share } = QUERY_LABEL;
  const left = Math.max(narrowest, widest(queries, Math.max(narrowest, width * share))) + 10;
  const fitting = Math.floor((width - left - 2) / keys.length);
  const cell = Math.max(CELL.smallest, Math.min(CELL.largest, fitting));
  return { left, top: widest(keys, KEY_LABEL) + 34, cell, rows: queries.length, columns: keys.length };
}

/**
 * The cell at a point, or null.
 *
 * @param {HeatLayout} layout
 * @param {number} x
 * @param {number} y
 * @returns {Cell | null}
 */
export function cellAt({ left, top, cell, rows, columns }, x, y) {
  const query = Math.floor((y - top) / cell), key = Math.floor((x - left) / cell);
  return query >= 0 && key >= 0 && query < rows && key < columns ? { query, key } : null;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {HeatLayout} layout
 * @param {Heatmap} heatmap
 */
export function drawHeatmap(canvas, layout, heatmap) {
  const { left, top, cell, rows, columns } = layout, { cells, theme, palette, marked, focus } = heatmap;
  const ctx = resizeCanvas(canvas, left + columns * cell + 2, top + rows * cell + 2);
  drawLabels(ctx, layout, heatmap);
  hatch(ctx, theme, left, top, columns * cell, rows * cell);
  paintCells(ctx, cells, palette, LIMITS, left, top, columns * cell, rows * cell);
  if (cell >= CELL.numbered) drawWeights(ctx, layout, heatmap);
  ctx.strokeStyle = theme.edge;
  ctx.strokeRect(left + 0.5, top + 0.5, columns * cell - 1, rows * cell - 1);
  ctx.strokeStyle = theme.accent;
  ctx.lineWidth = 2;
  if (marked !== null) ctx.strokeRect(left, top + marked * cell, columns * cell, cell);
  if (focus) ctx.strokeRect(left + focus.key * cell + 1, top + focus.query * cell + 1, cell - 2, cell - 2);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {HeatLayout} layout
 * @param {Heatmap} heatmap
 */
function drawLabels(ctx, { left, top, cell }, { queries, keys, theme, marked, focus }) {
  const soft = { size: 11, colour: theme.soft }, every = Math.ceil(LABEL_HEIGHT / cell);
  const style = (/** @type {boolean} */ strong) =>
    ({ weight: strong ? 600 : 400, colour: strong ? theme.accent : theme.ink });
  drawText(ctx, "key →", left, 9, soft);
  drawText(ctx, "query ↓", left - 8, top - 10, { ...soft, align: "right" });
  queries.forEach((word, q) => {
    const strong = q === (focus?.query ?? marked);
    if (q % every && !strong) return;
    const y = top + (q + 0.5) * cell;
    drawText(ctx, truncate(labelOf(word), left - 14), left - 8, y, { align: "right", ...style(strong) });
  });
  keys.forEach((word, k) => {
    if (k % every && k !== focus?.key) return;
    ctx.save();
    ctx.translate(left + (k + 0.5) * cell, top - 6);
    ctx.rotate(-Math.PI / 2);
    drawText(ctx, truncate(labelOf(word), KEY_LABEL), 0, 0, style(k === focus?.key));
    ctx.restore();
  });
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {HeatLayout} layout
 * @param {Heatmap} heatmap
 */
function drawWeights(ctx, { left, top, cell }, { cells, palette }) {
  const colourOf = colourScale(palette, LIMITS);
  cells.values.forEach((value, i) => {
    if (cells.masked[i] || value < SMALLEST_NUMBER) return;
    const x = left + ((i % cells.columns) + 0.5) * cell, y = top + (Math.floor(i / cells.columns) + 0.5) * cell;
    const colour = isBright(colourOf(value)) ? "#1d2430" : "#ffffff";
    drawText(ctx, value.toFixed(2), x, y + 0.5, { size: 10.5, align: "center", colour });
  });
}
