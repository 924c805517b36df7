// @ts-check
// The picture as a PNG, with its title and its legend.

import { contextOf, drawText, hatch, truncate, widthOf } from "./canvas.js";
import { headName } from "../describe.js";
import { scaleEnds, sentenceTexts, thickness } from "../controls/legend.js";
import { isOverview } from "./views.js";

/** @import { Focus, Scene } from "../scene.js" */
/** @import { View } from "./views.js" */

const PIXELS = 2; // at least so many in a CSS pixel, whatever screen it is saved on
const MARGIN = 12, TITLE = 44, ROW = 20;

/**
 * A sample of a colour or a mark, as wide as `wide`, and what it means.
 *
 * @typedef {object} Item
 * @property {number} wide
 * @property {(ctx: CanvasRenderingContext2D, x: number, y: number) => void} sample y is its middle
 * @property {string} text
 */

/**
 * A view drawn once more, with the title above it and its legend below.
 *
 * @param {View<any>} view
 * @param {any} layout what the view's `layout` returned
 * @param {string} title
 * @param {Scene} scene
 * @returns {Promise<Blob>}
 */
export function composePng(view, layout, title, scene) {
  const ratio = Math.max(PIXELS, self.devicePixelRatio || 1), { theme } = scene;
  const out = document.createElement("canvas"), wide = Math.max(layout.width, 340);
  const items = placed(legendItems(scene), wide), last = items[items.length - 1];
  const width = wide + 2 * MARGIN, below = TITLE + layout.height + 20, height = below + last.y + ROW;
  out.width = Math.round(width * ratio);
  out.height = Math.round(height * ratio);
  const ctx = contextOf(out);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = theme.back;
  ctx.fillRect(0, 0, width, height);
  drawText(ctx, truncate(title, wide, 14, 600), MARGIN, 22, { size: 14, weight: 600, colour: theme.ink });
  ctx.save();
  ctx.translate(MARGIN, TITLE);
  view.frame(ctx, scene, layout);
  view.cells(ctx, scene, layout);
  view.over(ctx, scene, layout, null); // a locked row
  ctx.restore();
  for (const { x, y, item } of items) {
    item.sample(ctx, MARGIN + x, below + y);
    drawText(ctx, item.text, MARGIN + x + item.wide, below + y, { colour: theme.soft });
  }
  return new Promise((resolve, reject) => {
    out.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no PNG"))), "image/png");
  });
}

/**
 * Items side by side, in as many rows as they need.
 *
 * @param {Item[]} items
 * @param {number} width
 */
function placed(items, width) {
  let x = 0, y = 0;
  return items.map((item) => {
    const needed = item.wide + widthOf(item.text) + 18;
    if (x > 0 && x + needed > width) [x, y] = [0, y + ROW];
    x += needed;
    return { item, x: x - needed, y };
  });
}

/**
 * The same as the legend on the page.
 *
 * @param {Scene} scene
 * @returns {Item[]}
 */
function legendItems(scene) {
  const { attention, axes, matrix, palette, state, strands, theme } = scene;
  const overview = isOverview(state.view), lines = state.view === "lines";
  const gold = attention.gold.length > 0 && state.gold && !overview;
  /** @param {string} colour @param {number[]} dash @param {number} thick @returns {Item["sample"]} */
  const stroke = (colour, dash, thick) => (ctx, x, y) => {
    ctx.setLineDash(dash);
    ctx.strokeStyle = colour;
    ctx.lineWidth = thick;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x + 26, y);
    ctx.stroke();
    ctx.setLineDash([]);
  };
  /** @param {string} text @returns {Item} */
  const plain = (text) => ({ wide: 0, sample: () => {}, text });
  const [low, high] = scaleEnds(scene), lowWide = widthOf(low) + 6;
  /** @type {Item} */
  const scale = { wide: lowWide + 116, text: high, sample: (ctx, x, y) => {
    drawText(ctx, low, x, y, { colour: theme.soft });
    for (let i = 0; i < 110; i++) {
      ctx.fillStyle = palette.css((i / 109) * 255);
      ctx.fillRect(x + lowWide + i, y - 5, 1.5, 10);
    }
  } };
  const items = [
    overview && (state.stretch || matrix.step !== "weights") ? plain("each head has its own colour scale")
      : lines ? plain(thickness(scene)) : scale,
  ];
  if (strands.length > 1) items.push(...strands.map(({ head, colour, dashes }) =>
    ({ wide: 32, sample: stroke(colour, dashes ? (dashes < 40 ? [7, 4] : [3, 3]) : [], 4), text: headName(attention, head) })));
  if (matrix.masked.includes(1))
    items.push({ wide: 20, sample: (ctx, x, y) => hatch(ctx, theme, x, y - 7, 14, 14), text: "masked" });
  if (state.view === "heatmap" && axes.queries.some(({ pad }) => pad)) items.push(plain("padding is faded"));
  if (state.view === "grid") items.push(plain("bar: mean entropy"));
  if (gold && lines) items.push({ wide: 32, sample: stroke(theme.ink, [3, 4], 1.5), text: "gold link" });
  if (gold && !lines) items.push(
    { wide: 20, text: "gold link", sample: (ctx, x, y) => {
      ctx.strokeStyle = theme.ink;
      ctx.lineWidth = 3;
      ctx.strokeRect(x + 1.5, y - 6, 11, 11);
    } },
    { wide: 14, text: "largest weight of its row", sample: (ctx, x, y) => {
      ctx.fillStyle = theme.accent;
      ctx.beginPath();
      ctx.moveTo(x, y - 5);
      ctx.lineTo(x + 10, y - 5);
      ctx.lineTo(x + 10, y + 5);
      ctx.fill();
    } });
  items.push(...sentenceTexts(scene).map(plain));
  return items;
}
