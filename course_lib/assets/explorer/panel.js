// @ts-check
// Around the picture: beside it the numbers of the row or head with the focus, below it what the colours
// mean, and the same as a table.

import { KINDS, STEPS } from "./constants.js";
import { ALL_MASKED, cellText, formatNumber, headName, quote, summaryText, topKeys, topQueries } from "./describe.js";
import { keepKeys, make } from "./dom.js";
import { isOverview } from "./views.js";

/** @import { Group, Matrix } from "./data.js" */
/** @import { Focus, Scene } from "./scene.js" */

/**
 * @param {HTMLElement} panel
 * @param {Scene} scene
 * @param {Focus | null} focus
 * @param {() => void} release unlocks the row
 */
export function fillPanel(panel, scene, focus, release) {
  const { state, locked } = scene;
  const { layer, head } = focus && "layer" in focus ? focus : state;
  const key = focus?.key, query = focus?.query ?? (key === undefined ? locked : null);
  const matrix = scene.matrixAt(layer, head);
  /** @param {"div" | "p"} tag @param {string} text */
  const soft = (tag, text) => make(tag, { className: "ae-soft", textContent: text });
  /** @type {HTMLElement[]} */
  const parts = [
    make("div", { className: "ae-name", textContent: `layer ${layer}, ${headName(head)}` }),
    soft("div", `${KINDS[scene.attention.kind]}, ${summaryText(scene.summary(layer, head), matrix.columns)}`),
  ];
  if (query !== null) parts.push(...rowParts(scene, matrix, query, key));
  else if (key !== undefined) parts.push(...columnParts(scene, matrix, key));
  else parts.push(
    soft("p", isOverview(state.view) ? "Point at a head to see its numbers. Click it, or press Enter, to open it."
      : "Point at a cell or a token. A click, or Enter, locks its row."),
    soft("p", "The arrow keys move, Page Up and Page Down change the head."));
  if (locked !== null && !isOverview(state.view)) {
    const button = make("button", { type: "button", textContent: "Release the row" });
    button.addEventListener("click", release);
    parts.push(button);
  }
  panel.replaceChildren(...parts);
  keepKeys(panel);
}

/** @param {Group} group @param {string} text */
const rowName = (group, text) => make("div", { className: "ae-row" },
  make("b", { textContent: quote(group.text) + (group.pad ? " (padding)" : "") }), text);

/**
 * @param {Scene} scene
 * @param {Matrix} matrix
 * @param {number} query
 * @param {number} [key]
 */
function rowParts(scene, matrix, query, key) {
  const { axes, locked } = scene, top = topKeys(matrix, query);
  const parts = [
    rowName(axes.queries[query], query === locked ? " is locked, reads" : " reads"),
    ...bars(scene, matrix, top.map(({ key: k, value }) => [axes.keys[k].text, value])),
  ];
  if (!top.length) parts.push(make("div", { textContent: ALL_MASKED }));
  if (key !== undefined)
    parts.push(make("div", { className: "ae-cell", textContent: cellText(matrix, axes, query, key) }));
  return parts;
}

/**
 * @param {Scene} scene
 * @param {Matrix} matrix
 * @param {number} key
 */
function columnParts(scene, matrix, key) {
  const { axes } = scene;
  const top = topQueries(matrix, key);
  return [
    rowName(axes.keys[key], " is read by"),
    ...bars(scene, matrix, top.map(({ query, value }) => [axes.queries[query].text, value])),
  ];
}

/**
 * @param {Scene} scene
 * @param {Matrix} matrix
 * @param {[name: string, value: number][]} pairs
 */
function bars({ limits }, matrix, pairs) {
  const full = matrix.step === "weights" ? 1 : limits[1];
  return pairs.map(([name, value]) => {
    const share = Math.max(0, Math.min(1, value / full));
    return make("div", { className: "ae-bar" },
      make("span", { className: "ae-bar-name", textContent: name }),
      make("span", { className: "ae-bar-line" }, make("i", { style: `width: ${share * 100}%` })),
      make("span", { className: "ae-bar-value", textContent: formatNumber(value) }));
  });
}

/**
 * @param {HTMLElement} legend
 * @param {Scene} scene
 */
export function fillLegend(legend, scene) {
  const { attention, axes, matrix, state, theme } = scene;
  const overview = isOverview(state.view), lines = state.view === "lines";
  const gold = attention.gold.length > 0 && state.gold && !overview;
  const pads = [...axes.queries, ...axes.keys].some((group) => group.pad);
  /** @param {string} className @param {string} text */
  const item = (className, text) => make("span", { className: "ae-item" }, make("i", { className }), text);
  const items = [
    overview && (state.stretch || matrix.step !== "weights")
      ? make("span", { className: "ae-item" }, "each head has its own colour scale")
      : lines ? item("ae-stroke", `${STEPS[matrix.step].value}: the thicker the line, the larger`)
        : scaleLegend(scene),
  ];
  if (matrix.masked.includes(1)) items.push(item("ae-hatched", "masked"));
  if (pads) items.push(item("ae-faded", "padding, faded"));
  if (state.view === "grid") items.push(item("ae-entropy", "mean entropy, full if all keys have the same weight"));
  if (gold) items.push(item(lines ? "ae-dashed" : "ae-ring", "gold link"));
  if (gold && !lines) items.push(item("ae-dot", "largest weight"));
  legend.replaceChildren(...items);
  legend.style.setProperty("--hatch", theme.hatch);
}

/** @param {Scene} scene */
function scaleLegend({ matrix, limits: [low, high], palette, state }) {
  const strip = make("i", { className: "ae-scale" }), weights = matrix.step === "weights";
  strip.style.background = palette.gradient;
  return make("span", { className: "ae-item" }, low.toFixed(weights ? 0 : 2), strip,
    high.toFixed(weights && !state.stretch ? 0 : 2), ` ${STEPS[matrix.step].value}`);
}

/**
 * For readers who do not see the picture: each query with its largest weights.
 *
 * @param {HTMLTableElement} table
 * @param {Scene} scene
 */
export function fillTable(table, { matrix, axes }) {
  const head = ["query (reads)", "keys read most"].map((text) => make("th", { scope: "col", textContent: text }));
  const rows = axes.queries.map((query, q) => {
    const top = topKeys(matrix, q).map(({ key, value }) => `${axes.keys[key].text} ${formatNumber(value)}`).join(", ");
    return make("tr", {},
      make("th", { scope: "row", textContent: query.text + (query.pad ? " (padding)" : "") }),
      make("td", { textContent: top || ALL_MASKED }));
  });
  table.replaceChildren(make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}
