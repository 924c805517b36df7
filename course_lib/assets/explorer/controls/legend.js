// @ts-check
// Below the picture: what its colours and marks mean, and the same as a table.

import { STEPS } from "../constants.js";
import { ALL_MASKED, amongOf, headName, placeName, topKeys } from "../describe.js";
import { decimals } from "../data/numbers.js";
import { make, swatch } from "./dom.js";
import { isOverview } from "../drawing/views.js";

/** @import { Scene } from "../scene.js" */

const LEAST_NUMBER = 0.005; // smaller weights would be written as 0.00

/**
 * @param {HTMLElement} legend
 * @param {Scene} scene
 */
export function fillLegend(legend, scene) {
  const { attention, axes, matrix, palette, state, strands, theme } = scene;
  const overview = isOverview(state.view), lines = state.view === "lines";
  const gold = attention.gold.length > 0 && state.gold && !overview;
  const pads = state.view === "heatmap" && axes.queries.some(({ pad }) => pad);
  /** @param {string} className @param {string} text */
  const item = (className, text) => make("span", { className: "ae-item" }, make("i", { className }), text);
  const items = [
    overview && (state.stretch || matrix.step !== "weights")
      ? make("span", { className: "ae-item" }, "each head has its own colour scale")
      : lines ? item(strands.length > 1 ? "ae-none" : "ae-stroke", thickness(scene)) : scaleLegend(scene),
  ];
  if (strands.length > 1) items.push(...strands.map((strand) =>
    make("span", { className: "ae-item" }, swatch(strand), headName(attention, strand.head))));
  if (matrix.masked.includes(1)) items.push(item("ae-hatched", "masked"));
  if (pads) items.push(item("ae-faded", "padding, faded"));
  if (state.view === "grid") items.push(item("ae-entropy", "mean entropy, full if all keys have the same weight"));
  if (gold) items.push(item(lines ? "ae-dashed" : "ae-frame", "gold link"));
  if (gold && !lines) items.push(item("ae-corner", "largest weight of its row"));
  items.push(...sentenceTexts(scene).map((text) => make("span", { className: "ae-item" }, text)));
  legend.replaceChildren(...items);
  legend.style.setProperty("--hatch", theme.hatch);
  legend.style.setProperty("--most", palette.css(255));
}

/**
 * The numbers at the two ends of the colours.
 *
 * @param {Scene} scene
 */
export function scaleEnds({ matrix, limits: [low, high], state }) {
  const weights = matrix.step === "weights", top = decimals(high, weights && !state.stretch ? 0 : 2);
  return [decimals(low, weights && !state.stretch ? 0 : 2), `${top} ${STEPS[matrix.step].value}`];
}

/**
 * What the lines mean, in words that are true on a light page and on a dark one.
 *
 * @param {Scene} scene
 */
export const thickness = (scene) => `${STEPS[scene.matrix.step].value}: the thicker the line, the larger; ` +
  `none below ${(scene.faintest() * scene.limits[1]).toFixed(2)}`;

/**
 * Which tokens are sentences A and B, and that the weights between two of them are parts of their rows; nothing where
 * there is one sentence.
 *
 * @param {Scene} scene
 */
export function sentenceTexts({ attention: { nKeys, secondSentence }, axes }) {
  if (secondSentence === null) return [];
  const where = `sentence A: tokens 0 to ${secondSentence - 1}, B: tokens ${secondSentence} to ${nKeys - 1}`;
  return axes.sentences === "all" ? [where] : [where, "part of each row, not renormalised", "entropy: of whole rows"];
}

/** @param {Scene} scene */
function scaleLegend(scene) {
  const strip = make("i", { className: "ae-scale" }), [low, high] = scaleEnds(scene);
  strip.style.background = scene.palette.gradient;
  return make("span", { className: "ae-item" }, low, strip, high);
}

/**
 * For readers who do not see the picture: each query with its largest weights, in each head that is drawn, or in the
 * chosen one of all.
 *
 * @param {HTMLTableElement} table
 * @param {Scene} scene
 */
export function fillTable(table, { attention, axes, matrix, state: { head, layer, view }, strands }) {
  const what = `keys it attends to most${amongOf(axes, 1)}`;
  const columns = strands.length > 1
    ? strands.map((strand) => ({ text: `${headName(attention, strand.head)}: ${what}`, matrix: strand.matrix }))
    : [{ text: isOverview(view) ? `${placeName(attention, layer, head)}: ${what}` : what, matrix }];
  const heads = ["query", ...columns.map(({ text }) => text)];
  const rows = axes.queries.map((query, q) => make("tr", {},
    make("th", { scope: "row", textContent: query.label + (query.pad ? " (padding)" : "") }),
    ...columns.map((column) => {
      const top = topKeys(column.matrix, q).filter(({ value }) => column.matrix.step !== "weights" || value >= LEAST_NUMBER)
        .map(({ key, value }) => `${axes.keys[key].label} ${decimals(value, 2)}`);
      return make("td", { textContent: top.join(", ") || ALL_MASKED });
    })));
  table.replaceChildren(
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", textContent: text })))),
    make("tbody", {}, ...rows));
}
