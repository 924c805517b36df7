// @ts-check
// What all views draw with: sharp canvases, labels that fit, hatching, and coloured cells.
// All lengths are CSS pixels.

import { colourScale } from "./colour.js";

/** @import { Palette, Theme } from "./colour.js" */
/** @import { Group, Matrix } from "../data/data.js" */

const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";
export const LABEL = 12; // the size of most text
const font = (size = LABEL, weight = 400) => `${weight} ${size}px ${FONT}`;

/** @param {HTMLCanvasElement} canvas */
export const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

/** @type {CanvasRenderingContext2D | undefined} */
let ruler; // made when the first text is measured, so that this module loads without a page

/** @param {string} text */
export function widthOf(text, size = LABEL, weight = 400) {
  ruler ??= contextOf(document.createElement("canvas"));
  ruler.font = font(size, weight);
  return ruler.measureText(text).width;
}

/**
 * Text cut to a width, with an ellipsis where something is missing.
 *
 * @param {string} text
 * @param {number} width
 */
export function truncate(text, width, size = LABEL, weight = 400) {
  if (widthOf(text, size, weight) <= width) return text;
  const characters = [...text];
  /** @param {number} end */
  const cut = (end) => characters.slice(0, end).join("") + "…";
  let fits = 1, tooMany = characters.length; // by halves: a text may have thousands of characters
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (widthOf(cut(middle), size, weight) <= width) fits = middle;
    else tooMany = middle;
  }
  return cut(fits);
}

/**
 * The width of the widest label, but no more than `maximum`.
 *
 * @param {Group[]} groups
 * @param {number} maximum
 */
export const widestLabel = (groups, maximum) =>
  Math.min(maximum, Math.max(...groups.map((group) => widthOf(group.label, LABEL, 600))));

/**
 * Resize a canvas, with as many pixels as the screen has, and return its context.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function resizeCanvas(canvas, width, height) {
  const ratio = self.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = contextOf(canvas);
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  return ctx;
}

/** @param {CanvasRenderingContext2D} ctx */
export function clearCanvas(ctx) {
  ctx.save();
  ctx.resetTransform();
  ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  ctx.restore();
}

/** @type {Map<Theme, HTMLCanvasElement>} */
const tiles = new Map(); // one for each theme, used by all heads

/** @param {Theme} theme */
function hatchTile(theme) {
  const found = tiles.get(theme);
  if (found) return found;
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const ctx = contextOf(tile);
  ctx.fillStyle = theme.hatched;
  ctx.fillRect(0, 0, 6, 6);
  ctx.strokeStyle = theme.hatch;
  ctx.beginPath();
  for (const shift of [-6, 0, 6]) { ctx.moveTo(shift, 6); ctx.lineTo(shift + 6, 0); }
  ctx.stroke();
  tiles.set(theme, tile);
  return tile;
}

/**
 * The background of masked cells, which are never drawn as zeros.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Theme} theme
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function hatch(ctx, theme, x, y, width, height) {
  ctx.fillStyle = /** @type {CanvasPattern} */ (ctx.createPattern(hatchTile(theme), "repeat"));
  ctx.fillRect(x, y, width, height);
}

/** @type {HTMLCanvasElement | undefined} */
let scratch;

/**
 * Coloured cells; masked ones are left out. Where there are more cells than pixels, a pixel shows the
 * largest of its values, so that no peak is lost in a small picture.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Matrix} matrix
 * @param {Palette} palette
 * @param {[low: number, high: number]} limits
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function paintCells(ctx, matrix, palette, limits, x, y, width, height) {
  const ratio = ctx.getTransform().a; // pixels of the canvas in a CSS pixel
  const columns = Math.min(matrix.columns, Math.ceil(width * ratio));
  const rows = Math.min(matrix.rows, Math.ceil(height * ratio));
  const image = new ImageData(columns, rows), pixels = new Uint32Array(image.data.buffer);
  const colour = colourScale(palette, limits), { values, masked } = matrix;
  if (columns < matrix.columns || rows < matrix.rows) {
    const largest = new Float32Array(columns * rows).fill(-Infinity);
    for (let q = 0; q < matrix.rows; q++) {
      const row = Math.floor((q * rows) / matrix.rows) * columns;
      for (let k = 0; k < matrix.columns; k++) {
        const i = q * matrix.columns + k, pixel = row + Math.floor((k * columns) / matrix.columns);
        if (!masked[i] && values[i] > largest[pixel]) largest[pixel] = values[i];
      }
    }
    largest.forEach((value, pixel) => { if (value > -Infinity) pixels[pixel] = colour(value); });
  } else {
    for (let i = 0; i < pixels.length; i++) if (!masked[i]) pixels[i] = colour(values[i]);
  }
  scratch ??= document.createElement("canvas");
  scratch.width = columns;
  scratch.height = rows;
  contextOf(scratch).putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(scratch, 0, 0, columns, rows, x, y, width, height);
}

/**
 * @typedef {object} TextStyle
 * @property {number} [size]
 * @property {number} [weight]
 * @property {CanvasTextAlign} [align]
 * @property {string} colour
 */

/**
 * Text whose middle is at the height y.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {TextStyle} style
 */
export function drawText(ctx, text, x, y, { size = LABEL, weight = 400, align = "left", colour }) {
  ctx.font = font(size, weight);
  ctx.textAlign = align;
  ctx.textBaseline = "middle";
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

/**
 * The highlighted label of the token that has the focus.
 *
 * @param {CanvasRenderingContext2D} ctx
 * @param {Theme} theme
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {"left" | "right"} align
 * @param {number} maxWidth
 */
export function drawTag(ctx, theme, text, x, y, align, maxWidth) {
  const shown = truncate(text, maxWidth, LABEL, 600), width = widthOf(shown, LABEL, 600) + 8;
  ctx.fillStyle = theme.accent;
  ctx.beginPath();
  ctx.roundRect(align === "left" ? x - 4 : x - width + 4, y - 9, width, 18, 4);
  ctx.fill();
  drawText(ctx, shown, x, y, { weight: 600, align, colour: theme.back });
}
