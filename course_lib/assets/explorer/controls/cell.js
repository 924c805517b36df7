// @ts-check
// Below the picture: how the weight of the opened cell is computed, number by number.

import { MEAN, STEPS } from "../constants.js";
import { formatNumber, quote } from "../describe.js";
import { make } from "./dom.js";
import { decimals } from "../data/numbers.js";
import { stepsOf } from "../data/steps.js";

/** @import { Scene } from "../scene.js" */
/** @import { CellSteps } from "../data/steps.js" */

const MINUS = "−";

/**
 * The steps of the opened cell, or why there are none; null where no cell is open.
 *
 * @param {Scene} scene
 * @returns {CellSteps | string | null}
 */
export function openedCell({ attention, axes, locked, opened, state }) {
  if (locked === null || opened === null || state.view !== "heatmap") return null;
  if (axes.joined) return "Subwords are joined: their weights are summed. Split them to see how one is computed.";
  if (state.head === MEAN) return "This is a mean of several weights. Choose one head to see how its weight is computed.";
  return stepsOf(attention, state, axes.queries[locked].members[0], axes.keys[opened].members[0]);
}

/**
 * @param {HTMLElement} box is hidden where no cell is open
 * @param {Scene} scene
 */
export function fillCell(box, scene) {
  const cell = openedCell(scene), { axes, locked, opened } = scene;
  box.hidden = cell === null;
  if (cell === null || locked === null || opened === null) return box.replaceChildren();
  const query = axes.queries[locked].text, key = axes.keys[opened].text;
  const name = make("div", { className: "ae-name", textContent: `How much ${quote(query)} attends to ${quote(key)}` });
  const parts = typeof cell === "string" ? [note(cell)] : cellParts(cell, query, key);
  box.replaceChildren(name, ...parts);
}

/** @param {string} text */
const note = (text) => make("p", { className: "ae-soft", textContent: text });

/** @param {number} weight @param {boolean} masked */
const weightText = (weight, masked) => `The weight is ${masked ? "0: the cell is masked" : formatNumber(weight)}.`;

/**
 * @param {CellSteps} cell
 * @param {string} query
 * @param {string} key
 */
function cellParts({ weight, masked, numbers, scores }, query, key) {
  if (!scores) return [note(`${weightText(weight, masked)} ` +
    "Its scores, queries and keys are not stored here: explore_attention stores them with queries= and keys=, " +
    "explore_model with products=.")];
  const { score, root, scaled, largest, sum } = scores, count = numbers?.products.length;
  /** @param {string} label @param {string} how @param {string} result */
  const step = (label, how, result) => make("li", {},
    make("span", { className: "ae-soft", textContent: label }), make("span", { textContent: how }),
    make("b", { textContent: result }));
  const power = Math.exp(scaled - largest);
  const list = make("ol", { className: "ae-steps" },
    step(STEPS.scores.label, count ? `sum of ${count} products` : "as it is stored", decimals(score)),
    step(STEPS.scaled.label, `${decimals(score)} ÷ ${root.toFixed(root % 1 ? 3 : 0)}`, decimals(scaled)),
    step(STEPS.masked.label, masked ? "may not attend" : "may attend", masked ? `${MINUS}∞` : decimals(scaled)),
    step(STEPS.weights.label, masked ? `e^(${MINUS}∞) ÷ Σ`
      : `e^(${decimals(scaled)} − ${decimals(largest)}) ÷ Σ = ${decimals(power)} ÷ ${decimals(sum)}`,
    masked ? "0" : formatNumber(weight)));
  const why = masked ? null : note(`${decimals(largest)} is the largest of the row; it is subtracted so that no power is ` +
    "too large, and changes no weight. Σ is the sum of these powers over the row.");
  if (!numbers) return [list, why, note("Queries and keys are not stored here: explore_attention stores them with " +
    "queries= and keys=, explore_model with products=.")].filter((part) => part !== null);
  return [productTable(numbers, query, key), list, ...(why ? [why] : [])];
}

/**
 * A column for each number: the query's, the key's, and their product, also as a bar.
 *
 * @param {{ query: Float32Array, key: Float32Array, products: Float32Array }} numbers
 * @param {string} query
 * @param {string} key
 */
function productTable({ query: q, key: k, products }, query, key) {
  const up = Math.max(0, ...products), down = -Math.min(0, ...products), all = up + down || 1;
  /** @param {string} name @param {Iterable<Node>} cells */
  const row = (name, cells) => make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells);
  /** @param {Float32Array} values */
  const numbers = (values) => Array.from(values, (value) => make("td", { textContent: decimals(value, 2) }));
  // Bars rise from the height of zero, or hang from it.
  const bars = Array.from(products, (value) => {
    const size = `height: ${(Math.abs(value) / all) * 100}%`;
    const bar = value < 0 ? make("i", { className: "ae-negative", style: `${size}; top: ${(up / all) * 100}%` })
      : make("i", { className: "ae-positive", style: `${size}; bottom: ${(down / all) * 100}%` });
    return make("td", {}, make("span", { className: "ae-product" }, bar));
  });
  const heads = Array.from(products, (_, i) => make("th", { scope: "col", textContent: String(i) }));
  const barRow = make("tr", { aria: { hidden: true } }, make("td"), ...bars);
  const table = make("table", { className: "ae-products" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col", textContent: "number" }), ...heads)),
    make("tbody", {}, row(`query ${quote(query)}`, numbers(q)), row(`key ${quote(key)}`, numbers(k)),
      row("product", numbers(products)), barRow));
  const aria = { role: "region", label: "Products of query and key" };
  return make("div", { className: "ae-scroll-x", tabIndex: 0, aria }, table);
}

/**
 * What a screen reader says of the opened cell.
 *
 * @param {Scene} scene
 */
export function openedText(scene) {
  const cell = openedCell(scene);
  if (cell === null) return "";
  if (typeof cell === "string") return cell;
  const { weight, masked, numbers, scores } = cell;
  if (!scores) return `${weightText(weight, masked)} Its scores are not stored.`;
  const products = numbers ? `The sum of ${numbers.products.length} products is` : "The score is";
  return `${products} ${decimals(scores.score)}, divided by ${decimals(scores.root)} it is ${decimals(scores.scaled)}; ` +
    (masked ? "masked, so the weight is 0." : `after the softmax ${formatNumber(weight)}.`);
}
