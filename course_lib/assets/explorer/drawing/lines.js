// @ts-check
// Lines from queries on the left to keys on the right, as in figures 3 to 5 of the paper: of one head, or of
// several in colours.

import { drawTag, drawText, hatch, truncate, widestLabel } from "./canvas.js";
import { range } from "../data/data.js";
import { topKeys } from "../describe.js";

/** @import { Group } from "../data/data.js" */
/** @import { Scene, Strand } from "../scene.js" */
/** @import { View } from "./views.js" */

/**
 * @typedef {object} LinesLayout
 * @property {number} x0 where lines start, at the queries
 * @property {number} x1 where they end, at the keys
 * @property {number} y0 the top of the queries
 * @property {number} y1 the top of the keys
 * @property {number} pitch from one token to the next
 * @property {number} labelWidth the most that a label may take
 * @property {number} rows
 * @property {number} columns
 * @property {number} width
 * @property {number} height
 */

const FAINT = 0.02; // weaker lines can hardly be seen, and there are many of them
// As many lines as can be drawn in one frame of a screen; among more, none can be followed. A line wider than a
// pixel takes about five times as long as a hairline.
const MOST_HAIRLINES = 700, WIDE_LINE = 5;
const DASH = 0.65; // of the way from the start of a dash to that of the next
const BINS = 200; // for the strength from which on lines are drawn
const SHADES = 8; // lines of one shade are drawn with one stroke

/** @type {View<LinesLayout>} */
export const linesView = {
  layout({ axes }, width) {
    const rows = Math.max(axes.queries.length, axes.keys.length);
    const labelWidth = Math.min(170, width * 0.32);
    // The headings "query" and "key" need 32 pixels.
    const [left, right] = [axes.queries, axes.keys]
      .map((groups) => Math.ceil(Math.max(32, widestLabel(groups, labelWidth))) + 22);
    const pitch = Math.max(15, Math.min(28, Math.floor(660 / rows)));
    const gap = Math.max(70, Math.min(640, Math.floor(width - left - right)));
    const top = 30;
    /** @param {Group[]} groups */
    const topOf = (groups) => top + ((rows - groups.length) * pitch) / 2;
    return {
      x0: left, x1: left + gap, y0: topOf(axes.queries), y1: topOf(axes.keys), pitch, labelWidth,
      rows: axes.queries.length, columns: axes.keys.length,
      width: left + gap + right, height: top + rows * pitch + 8,
    };
  },

  frame(ctx, { axes, theme }, { x0, x1, y0, y1, pitch, labelWidth }) {
    drawText(ctx, "query", x0 - 10, 10, { align: "right", colour: theme.soft });
    drawText(ctx, "key", x1 + 10, 10, { colour: theme.soft });
    axes.queries.forEach(({ label, ink }, q) => {
      const colour = theme[ink];
      drawText(ctx, truncate(label, labelWidth), x0 - 10, y0 + (q + 0.5) * pitch, { align: "right", colour });
    });
    axes.keys.forEach(({ label, ink }, k) => {
      const colour = theme[ink];
      drawText(ctx, truncate(label, labelWidth), x1 + 10, y1 + (k + 0.5) * pitch, { colour });
    });
  },

  cells(ctx, scene, layout) {
    const { matrix, axes, attention, theme, state } = scene;
    if (attention.anyMasked) markMasked(ctx, scene, layout, (k) => range(matrix.rows).every((q) => matrix.masked[q * matrix.columns + k]));
    if (state.gold) {
      ctx.strokeStyle = theme.ink;
      ctx.setLineDash([3, 4]);
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      for (const { query, key } of axes.gold) addCurve(ctx, layout, query, key, 0, 0);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    const faintest = scene.faintest();
    for (const strand of scene.strands) drawStrand(ctx, scene, layout, strand, faintest);
  },

  over(ctx, scene, layout, focus) {
    const { matrix, axes, theme, locked, strands } = scene, { x0, x1, y0, y1, pitch, labelWidth } = layout;
    const key = focus?.key, query = focus?.query ?? (key === undefined ? locked : null);
    const head = focus && "layer" in focus ? focus.head : null;
    if (query === null && key === undefined && head === null) return;
    ctx.fillStyle = theme.back;
    ctx.globalAlpha = 0.88;
    ctx.fillRect(x0, 22, x1 - x0, layout.height - 22);
    ctx.globalAlpha = 1;
    if (head !== null) {
      const alone = { ...scene, strands: strands.filter((strand) => strand.head === head) };
      for (const strand of alone.strands)
        drawStrand(ctx, alone, layout, strand, faintestLine(alone.strands, scene.limits));
      return;
    }
    /** @param {number} q @param {number} k */
    const drawLine = (q, k) => {
      for (const strand of strands) {
        const strength = strengthOf(scene, strand, q, k);
        if (strength > FAINT / 4) strokeLines(ctx, layout, strand, offsetOf(scene, layout, strand), strength, [q, k]);
      }
    };
    /** @param {number} k */
    const tagKey = (k) =>
      drawTag(ctx, theme, axes.keys[k].label, x1 + 10, y1 + (k + 0.5) * pitch, "left", labelWidth);
    if (query === null) {
      range(matrix.rows).forEach((q) => drawLine(q, /** @type {number} */ (key)));
    } else {
      range(matrix.columns).forEach((k) => drawLine(query, k));
      markMasked(ctx, scene, layout, (k) => Boolean(matrix.masked[query * matrix.columns + k]));
      drawTag(ctx, theme, axes.queries[query].label, x0 - 10, y0 + (query + 0.5) * pitch, "right", labelWidth);
    }
    if (key !== undefined) tagKey(key);
    else if (query !== null && strands.length === 1)
      for (const top of topKeys(matrix, query, 1)) tagKey(top.key);
  },

  hit({ x0, x1, y0, y1, pitch, rows, columns }, x, y) {
    const query = Math.floor((y - y0) / pitch), key = Math.floor((y - y1) / pitch);
    if (x < x0 + (x1 - x0) / 3) return query >= 0 && query < rows ? { query } : null;
    if (x > x1 - (x1 - x0) / 3) return key >= 0 && key < columns ? { key } : null;
    return null;
  },
};

/**
 * How strong a line is, from 0 to 1. Scores below zero get no line.
 *
 * @param {Scene} scene
 * @param {Strand} strand
 * @param {number} query
 * @param {number} key
 */
function strengthOf({ limits }, { matrix }, query, key) {
  const i = query * matrix.columns + key;
  return matrix.masked[i] ? 0 : Math.max(0, matrix.values[i]) / limits[1];
}

/**
 * How far below the middle of a token the lines of a head begin and end, so that several lie side by side.
 *
 * @param {Scene} scene
 * @param {LinesLayout} layout
 * @param {Strand} strand
 */
const offsetOf = ({ strands }, { pitch }, strand) =>
  (strands.indexOf(strand) - (strands.length - 1) / 2) * Math.min(4, (pitch - 5) / strands.length);

/**
 * How strong a line must be to be drawn: of very many lines only the strongest are.
 *
 * @param {Strand[]} strands
 * @param {Scene["limits"]} limits
 */
export function faintestLine(strands, limits) {
  const counts = new Uint32Array(BINS + 1), factor = BINS / limits[1], least = FAINT * limits[1];
  for (const { matrix: { masked, values } } of strands)
    for (let i = 0; i < values.length; i++)
      if (values[i] >= least && !masked[i]) counts[Math.min(BINS, (values[i] * factor) | 0)]++;
  let hairlines = 0, bin = BINS + 1;
  while (bin > FAINT * BINS) {
    hairlines += counts[bin - 1] * (bin > BINS / SHADES ? WIDE_LINE : 1);
    if (hairlines > MOST_HAIRLINES) break;
    bin--;
  }
  return Math.min(1, bin / BINS);
}

/**
 * Lines of similar strength share a stroke: thousands of single strokes would take too long.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {LinesLayout} layout
 * @param {Strand} strand
 * @param {number} faintest
 */
function drawStrand(ctx, scene, layout, strand, faintest) {
  const { rows, columns } = strand.matrix, offset = offsetOf(scene, layout, strand);
  /** @type {number[][]} */
  const shades = range(SHADES).map(() => []);
  for (let q = 0; q < rows; q++) for (let k = 0; k < columns; k++) {
    const strength = strengthOf(scene, strand, q, k);
    if (strength >= faintest && !scene.axes.queries[q].pad)
      shades[Math.min(SHADES - 1, Math.floor(strength * SHADES))].push(q, k);
  }
  shades.forEach((pairs, shade) => strokeLines(ctx, layout, strand, offset, (shade + 0.5) / SHADES, pairs));
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {LinesLayout} layout
 * @param {Strand} strand
 * @param {number} offset
 * @param {number} strength
 * @param {number[]} pairs query, key, query, key, …
 */
function strokeLines(ctx, layout, { colour, dashes }, offset, strength, pairs) {
  if (!pairs.length) return;
  ctx.strokeStyle = colour;
  ctx.globalAlpha = 0.12 + 0.88 * Math.min(1, strength);
  ctx.lineWidth = 0.5 + 3.5 * Math.min(1, strength);
  ctx.beginPath();
  for (let i = 0; i < pairs.length; i += 2) addCurve(ctx, layout, pairs[i], pairs[i + 1], offset, dashes);
  ctx.stroke();
  ctx.globalAlpha = 1;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {LinesLayout} layout
 * @param {number} query
 * @param {number} key
 * @param {number} offset
 * @param {number} dashes how many; 0 for an unbroken line. The canvas's own take ten times as long
 */
function addCurve(ctx, { x0, x1, y0, y1, pitch }, query, key, offset, dashes) {
  const from = y0 + (query + 0.5) * pitch + offset, to = y1 + (key + 0.5) * pitch + offset, third = (x1 - x0) / 3;
  // The same curve in points: x grows with t, and y as 3t² - 2t³.
  for (let i = 0; i < 2 * dashes; i++) {
    const t = (Math.floor(i / 2) + (i % 2) * DASH) / (dashes - 1 + DASH);
    ctx[i % 2 ? "lineTo" : "moveTo"](x0 + t * (x1 - x0), from + (to - from) * t * t * (3 - 2 * t));
  }
  if (dashes) return;
  ctx.moveTo(x0, from);
  ctx.bezierCurveTo(x0 + third, from, x1 - third, to, x1, to);
}

/**
 * Hatched marks beside the keys that no query, or not the chosen one, may attend to.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {LinesLayout} layout
 * @param {(key: number) => boolean} isMasked
 */
function markMasked(ctx, { theme }, { x1, y1, pitch, columns }, isMasked) {
  for (let k = 0; k < columns; k++)
    if (isMasked(k)) hatch(ctx, theme, x1, y1 + k * pitch + 2, 6, pitch - 4);
}
