// @ts-check
// Many heads as thumbnails: those of one layer, or those of all layers. Their mean comes last.

import { LABEL, drawText, hatch, paintCells, truncate } from "./canvas.js";
import { MEAN, TALLEST } from "../constants.js";
import { range } from "../data/data.js";
import { decimals } from "../data/numbers.js";
import { headName, layerName } from "../describe.js";

/** @import { Axes } from "../data/data.js" */
/** @import { Focus, Scene } from "../scene.js" */
/** @import { View } from "./views.js" */

const SMALLEST = 44; // a head of the grid, if there is room: smaller ones have no number below them

/** @typedef {{ layer: number, head: number, x: number, y: number }} Thumbnail */

/**
 * @typedef {object} ThumbnailLayout
 * @property {Thumbnail[]} thumbnails
 * @property {number} w the width of one
 * @property {number} h the height of one, without what is written below it
 * @property {number} below the height of what is written below it
 * @property {number} perRow thumbnails in a row
 * @property {number} rows of each matrix
 * @property {number} columns
 * @property {number} width
 * @property {number} height
 */

/**
 * @param {Axes} axes
 * @param {Omit<ThumbnailLayout, "rows" | "columns" | "width" | "height">} parts
 * @returns {ThumbnailLayout}
 */
const layoutOf = (axes, parts) => ({
  ...parts, rows: axes.queries.length, columns: axes.keys.length,
  width: Math.max(...parts.thumbnails.map(({ x }) => x)) + parts.w + 4,
  height: Math.max(...parts.thumbnails.map(({ y }) => y)) + parts.h + parts.below,
});

/**
 * Height by width of a thumbnail: that of the matrix, unless it is very long.
 *
 * @param {Axes} axes
 */
const aspectOf = (axes) => Math.max(0.5, Math.min(1.5, axes.queries.length / axes.keys.length));

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {ThumbnailLayout} layout
 */
function paintThumbnails(ctx, scene, { thumbnails, w, h }) {
  for (const { x, y, layer, head } of thumbnails) {
    const matrix = scene.matrixAt(layer, head);
    if (scene.attention.anyMasked) hatch(ctx, scene.theme, x, y, w, h);
    paintCells(ctx, matrix, scene.palette, scene.limitsAt(layer, head), x, y, w, h);
    ctx.strokeStyle = scene.theme.edge;
    ctx.lineWidth = 1;
    ctx.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1);
  }
}

/**
 * Outlines around the chosen head and the one with the focus.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {ThumbnailLayout} layout
 * @param {Focus | null} focus
 */
function outlineThumbnails(ctx, { theme, state }, { thumbnails, w, h }, focus) {
  ctx.strokeStyle = theme.accent;
  for (const { x, y, layer, head } of thumbnails) {
    const chosen = layer === state.layer && head === state.head;
    const focused = focus !== null && "layer" in focus && layer === focus.layer && head === focus.head;
    if (!chosen && !focused) continue;
    ctx.lineWidth = chosen ? 3 : 1.5;
    ctx.strokeRect(x - 2, y - 2, w + 4, h + 4);
  }
}

/**
 * The head at a point and, within its matrix, the cell.
 *
 * @param {ThumbnailLayout} layout
 * @param {number} x
 * @param {number} y
 * @returns {Focus | null}
 */
function hitThumbnail({ thumbnails, w, h, below, rows, columns }, x, y) {
  const found = thumbnails.find((t) => x >= t.x && x < t.x + w && y >= t.y && y < t.y + h + below);
  if (!found) return null;
  const { layer, head } = found;
  if (y >= found.y + h) return { layer, head };
  const query = Math.floor(((y - found.y) / h) * rows), key = Math.floor(((x - found.x) / w) * columns);
  return { layer, head, query, key };
}

/** @type {View<ThumbnailLayout>} */
export const headsView = {
  layout({ attention, axes, state }, width) {
    const count = attention.nHeads + +attention.hasMean, gap = 14;
    const fitting = Math.max(2, Math.floor((width + gap) / (width < 500 ? 150 : 170)));
    const perRow = Math.ceil(count / Math.ceil(count / fitting)); // rows of equal length
    const w = Math.min(230, Math.floor((width - 7 - gap * (perRow - 1)) / perRow)), h = Math.round(w * aspectOf(axes));
    const thumbnails = range(count).map((i) => ({
      layer: state.layer, // `cells` updates it, because the layout is the same for all layers
      head: i < attention.nHeads ? i : MEAN,
      x: 3 + (i % perRow) * (w + gap), y: 22 + Math.floor(i / perRow) * (h + 46),
    }));
    return layoutOf(axes, { thumbnails, w, h, below: 22, perRow });
  },

  frame() {},

  cells(ctx, scene, layout) {
    for (const thumbnail of layout.thumbnails) thumbnail.layer = scene.state.layer;
    paintThumbnails(ctx, scene, layout);
    for (const { x, y, layer, head } of layout.thumbnails) {
      const { entropy, error } = scene.summary(layer, head);
      const name = truncate(headName(scene.attention, head), layout.w, LABEL, 600);
      drawText(ctx, name, x, y - 11, { weight: 600, colour: scene.theme.ink });
      const text = `entropy ${decimals(entropy, 2)}` + (error === null ? "" : ` · AER ${error.toFixed(2)}`);
      drawText(ctx, truncate(text, layout.w), x, y + layout.h + 12, { colour: scene.theme.soft });
    }
  },

  over: outlineThumbnails,
  hit: hitThumbnail,
};

/** @type {View<ThumbnailLayout>} */
export const gridView = {
  layout({ attention, axes, state }, width) {
    const { hasMean, nHeads, nLayers } = attention, layers = state.layers.length ? state.layers : range(nLayers);
    const perRow = nHeads + +hasMean;
    const above = attention.layerNames.length ? 24 : 0; // a name stands above its row
    const left = above ? 3 : 24, gap = width < 500 ? 3 : 8, meanGap = hasMean ? 8 : 0;
    const widest = Math.min(150, Math.floor((width - left - meanGap - 6) / perRow) - gap);
    // All layers are seen together, unless their heads would become too small.
    const flattest = Math.floor(((TALLEST - 40 + gap) / layers.length - 24 - gap - above) / aspectOf(axes));
    const w = Math.max(18, Math.min(widest, Math.max(SMALLEST, flattest)));
    const h = Math.round(w * aspectOf(axes)), below = w >= 44 ? 24 : 10;
    const thumbnails = range(layers.length * perRow).map((i) => {
      const row = Math.floor(i / perRow), column = i % perRow, isMean = column === nHeads;
      return {
        layer: layers[row], head: isMean ? MEAN : column,
        x: left + column * (w + gap) + (isMean ? meanGap : 0), y: 40 + above + row * (h + below + gap + above),
      };
    });
    return layoutOf(axes, { thumbnails, w, h, below, perRow });
  },

  frame(ctx, { attention, theme }, { thumbnails, w, h, perRow }) {
    const soft = { colour: theme.soft }, named = attention.layerNames.length > 0;
    if (!named) drawText(ctx, "layer ↓", 2, 9, soft);
    drawText(ctx, "head →", named ? thumbnails[0].x : 60, 9, soft);
    for (const { x, head } of thumbnails.slice(0, perRow)) {
      const name = head === MEAN ? (w < 36 ? "x̄" : "mean") : attention.headNames[head] ?? `${head}`;
      drawText(ctx, truncate(name, w), x + w / 2, 26, { ...soft, align: "center" });
    }
    for (const { x, y, layer, head } of thumbnails) if (head === 0) {
      if (named) drawText(ctx, layerName(attention, layer), x, y - 11, { weight: 600, colour: theme.ink });
      else drawText(ctx, `${layer}`, 12, y + h / 2, { ...soft, align: "center" });
    }
  },

  // The bar below a head is its mean entropy, full where all keys have the same weight.
  cells(ctx, scene, layout) {
    paintThumbnails(ctx, scene, layout);
    const { theme } = scene, { w, h, below } = layout;
    for (const { x, y, layer, head } of layout.thumbnails) {
      const { entropy, most, error } = scene.summary(layer, head);
      const share = entropy / (most || 1);
      ctx.fillStyle = theme.edge;
      ctx.fillRect(x, y + h + 5, w, 3);
      ctx.fillStyle = theme.soft;
      ctx.fillRect(x, y + h + 5, w * Math.min(1, share), 3);
      if (below < 24) continue;
      const text = error === null ? decimals(entropy, 2) : `${w > 70 ? "AER " : ""}${error.toFixed(2)}`;
      drawText(ctx, text, x, y + h + 16, { colour: theme.soft });
    }
  },

  over: outlineThumbnails,
  hit: hitThumbnail,
};
