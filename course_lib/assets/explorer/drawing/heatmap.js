// @ts-check
// One head as a matrix: a query is a row, a key is a column.

import { LABEL, drawTag, drawText, hatch, paintCells, truncate, widestLabel, widthOf } from "./canvas.js";
import { colourScale, isBright } from "./colour.js";
import { TALLEST } from "../constants.js";
import { strongestKey } from "../data/data.js";
import { decimals } from "../data/numbers.js";

/** @import { Scene } from "../scene.js" */
/** @import { View } from "./views.js" */

/**
 * @typedef {object} HeatmapLayout
 * @property {number} left of the matrix
 * @property {number} top
 * @property {number} w the width of a cell
 * @property {number} h its height
 * @property {boolean} horizontal whether key labels are horizontal; otherwise they are vertical
 * @property {number} rows
 * @property {number} columns
 * @property {number} width
 * @property {number} height
 */

const MOST_NUMBERED_CELLS = 400;
const LEAST_NUMBER = 0.005; // smaller weights would be written as 0.00
const WIDEST = 112, HIGHEST = 52; // cells fill the stage up to here
const LONGEST_KEY = 130; // a key's label, if it is vertical

/** @type {View<HeatmapLayout>} */
export const heatmapView = {
  layout({ axes }, width) {
    const columns = axes.keys.length, rows = axes.queries.length;
    const least = 46; // what "query ↓" above the tokens needs
    const widest = widestLabel(axes.queries, Math.max(least, Math.min(150, width * 0.3)));
    const left = Math.ceil(Math.max(least, widest)) + 15;
    const available = Math.max(4, Math.min(WIDEST, Math.floor((width - left - 12) / columns)));
    // High enough to be read where there are few rows, never higher than wide, and not much flatter.
    const upright = 26 + Math.ceil(widestLabel(axes.keys, LONGEST_KEY)) + 8;
    const h = Math.min(HIGHEST, available, Math.max(10, Math.floor((TALLEST - upright - 8) / rows)));
    const w = Math.min(available, Math.max(h, Math.floor(2.2 * h)));
    const horizontal = axes.keys.every((key) => widthOf(key.label, LABEL, 600) <= w - 4);
    const top = horizontal ? 44 : upright;
    return {
      left, top, w, h, horizontal, rows, columns, width: left + columns * w + 12, height: top + rows * h + 8,
    };
  },

  frame(ctx, { axes, theme }, { left, top, w, h, horizontal, rows, columns }) {
    const soft = { colour: theme.soft };
    drawText(ctx, "key →", left, 9, soft);
    drawText(ctx, "query ↓", left - 8, top - 10, { ...soft, align: "right" });
    hatch(ctx, theme, left, top, columns * w, rows * h);
    axes.queries.forEach((query, q) => {
      if (q % Math.ceil(14 / h)) return; // a label needs so many pixels
      const colour = theme[query.ink];
      drawText(ctx, truncate(query.label, left - 14), left - 8, top + (q + 0.5) * h, { align: "right", colour });
    });
    axes.keys.forEach((key, k) => {
      if (k % Math.ceil(14 / w)) return;
      const colour = theme[key.ink], x = left + (k + 0.5) * w;
      const short = key.label !== key.text && widthOf(key.label) <= w; // a comma that lies on its side
      if (horizontal || short) return drawText(ctx, key.label, x, top - 11, { align: "center", colour });
      ctx.save();
      ctx.translate(x, top - 6);
      ctx.rotate(-Math.PI / 2);
      drawText(ctx, truncate(key.label, top - 34), 0, 0, { colour });
      ctx.restore();
    });
  },

  cells(ctx, scene, layout) {
    const { matrix, axes, theme, palette, limits, state } = scene, { left, top, w, h } = layout;
    paintCells(ctx, matrix, palette, limits, left, top, matrix.columns * w, matrix.rows * h);
    // The rows of padding mean nothing: they are shown, but faded. What is hidden is hatched everywhere alike.
    ctx.fillStyle = theme.back;
    ctx.globalAlpha = 0.65;
    axes.queries.forEach((query, q) => axes.keys.forEach((_, k) => {
      if (query.pad && !matrix.masked[q * matrix.columns + k]) ctx.fillRect(left + k * w, top + q * h, w, h);
    }));
    ctx.globalAlpha = 1;
    if (w >= 32 && h >= 20 && matrix.columns * matrix.rows <= MOST_NUMBERED_CELLS) drawNumbers(ctx, scene, layout);
    if (state.gold) drawGold(ctx, scene, layout);
  },

  over(ctx, { axes, theme, locked, opened }, { left, top, w, h, rows, columns }, focus) {
    if (locked !== null) {
      ctx.fillStyle = theme.back;
      ctx.globalAlpha = 0.6;
      ctx.fillRect(left, top, columns * w, locked * h);
      ctx.fillRect(left, top + (locked + 1) * h, columns * w, (rows - locked - 1) * h);
      ctx.globalAlpha = 1;
    }
    const key = focus ? focus.key : opened ?? undefined;
    const query = focus ? focus.query : locked ?? undefined;
    ctx.strokeStyle = theme.accent;
    ctx.lineWidth = 2;
    /** @param {number} row @param {number} column @param {number} nRows @param {number} nColumns */
    const outline = (row, column, nRows, nColumns) =>
      ctx.strokeRect(left + column * w - 1, top + row * h - 1, nColumns * w + 2, nRows * h + 2);
    if (query !== undefined) {
      outline(query, 0, 1, columns);
      drawTag(ctx, theme, axes.queries[query].label, left - 10, top + (query + 0.5) * h, "right", left - 20);
    }
    if (key === undefined) return;
    if (query === undefined) outline(0, key, rows, 1);
    else outline(query, key, 1, 1);
    const text = axes.keys[key].label, wide = widthOf(truncate(text, 140, LABEL, 600), LABEL, 600) + 8;
    const start = Math.max(4, Math.min(left + (key + 0.5) * w - wide / 2, left + columns * w + 8 - wide));
    drawTag(ctx, theme, text, start + 4, top - 11, "left", 140);
  },

  hit({ left, top, w, h, rows, columns }, x, y) {
    const query = Math.floor((y - top) / h), key = Math.floor((x - left) / w);
    if (query >= rows || key >= columns || (query < 0 && key < 0) || y < 18) return null;
    if (query < 0) return { key };
    return key < 0 ? { query } : { query, key };
  },
};

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {HeatmapLayout} layout
 */
function drawNumbers(ctx, { axes, matrix, limits, palette, theme }, { left, top, w, h }) {
  const colourAt = colourScale(palette, limits), weights = matrix.step === "weights";
  matrix.values.forEach((value, i) => {
    if (matrix.masked[i] || (weights && value < LEAST_NUMBER)) return;
    const x = left + ((i % matrix.columns) + 0.5) * w;
    const row = Math.floor(i / matrix.columns), y = top + (row + 0.5) * h;
    const colour = axes.queries[row].pad ? theme.ink : isBright(colourAt(value)) ? "#1b2130" : "#ffffff"; // faded: as the page
    const text = decimals(value, weights ? 2 : 1);
    drawText(ctx, text, x, y + 0.5, { align: "center", colour });
  });
}

/**
 * Thick frames along the edges of the gold links' cells, and a magenta corner in the strongest cell of each query that has
 * a link: never over a number.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {HeatmapLayout} layout
 */
function drawGold(ctx, { matrix, axes, theme }, { left, top, w, h }) {
  const line = h >= 20 ? 3 : 1.5, corner = Math.max(3, Math.min(12, 0.32 * h));
  for (const { query, key } of axes.gold) {
    const x = left + key * w, y = top + query * h;
    /** @param {string} colour @param {number} inset @param {number} width */
    const frame = (colour, inset, width) => {
      ctx.strokeStyle = colour;
      ctx.lineWidth = width;
      ctx.strokeRect(x + inset, y + inset, w - 2 * inset, h - 2 * inset);
    };
    if (h >= 20) frame(theme.back, line + 0.5, 1);
    frame(theme.ink, line / 2, line);
  }
  for (const query of new Set(axes.gold.map((link) => link.query))) {
    const key = strongestKey(matrix, query);
    if (key < 0) continue;
    const x = left + (key + 1) * w, y = top + query * h;
    /** @param {string} colour @param {number} size */
    const triangle = (colour, size) => {
      ctx.fillStyle = colour;
      ctx.beginPath();
      ctx.moveTo(x - size, y);
      ctx.lineTo(x, y);
      ctx.lineTo(x, y + size);
      ctx.fill();
    };
    triangle(theme.back, Math.min(h, corner + 2));
    triangle(theme.accent, corner);
  }
}
