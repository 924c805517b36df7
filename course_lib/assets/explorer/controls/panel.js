// @ts-check
// Beside the picture: the numbers of the row, column or head with the focus.

import { KINDS } from "../constants.js";
import {
  ALL_MASKED, amongOf, cellText, formatNumber, layersOf, placeName, quote, strandTops, summaryText, topKeys, topQueries,
} from "../describe.js";
import { keepKeys, make, swatch } from "./dom.js";
import { isOverview } from "../drawing/views.js";

/** @import { Group, Matrix } from "../data/data.js" */
/** @import { Focus, Scene } from "../scene.js" */

/**
 * @param {HTMLElement} panel
 * @param {Scene} scene
 * @param {Focus | null} focus
 * @param {() => void} release unlocks the row
 */
export function fillPanel(panel, scene, focus, release) {
  const { attention, state, locked } = scene;
  const { layer, head } = focus && "layer" in focus ? focus : state;
  const key = focus?.key, query = focus?.query ?? (key === undefined ? locked : null);
  const matrix = scene.matrixAt(layer, head);
  const compares = scene.strands.length > 1 && !(focus && "layer" in focus);
  /** @param {"div" | "p"} tag @param {string} text */
  const soft = (tag, text) => make(tag, { className: "ae-soft", textContent: text });
  const kind = KINDS[attention.kind];
  /** @type {HTMLElement[]} */
  const parts = compares ? [
    make("div", { className: "ae-name", textContent: [...layersOf(attention, layer), `${scene.strands.length} heads`].join(", ") }),
    soft("div", kind),
  ] : [
    make("div", { className: "ae-name", textContent: placeName(attention, layer, head) }),
    soft("div", `${kind}, ${summaryText(scene.summary(layer, head))}`),
  ];
  if (compares && (query !== null || key !== undefined)) parts.push(...strandParts(scene, query ?? undefined, key));
  else if (query !== null) parts.push(...rowParts(scene, matrix, query, key));
  else if (key !== undefined) parts.push(...columnParts(scene, matrix, key));
  else parts.push(
    soft("p", isOverview(state.view) ? "Point at a head to see its numbers. Click it, or press Enter, to open it."
      : state.view === "lines" ? "Point at a token. A click, or Enter, locks its row."
        : "Point at a cell or a token. A click, or Enter, locks the row and shows how the cell is computed."),
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
  const { axes, locked } = scene, top = topKeys(matrix, query), attends = `attends${amongOf(axes, 1)} to`;
  const parts = [
    rowName(axes.queries[query], query === locked ? ` is locked, ${attends}` : ` ${attends}`),
    ...bars(scene, matrix, top.map(({ key: k, value }) => [axes.keys[k].label, value])),
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
    rowName(axes.keys[key], ` is attended to${amongOf(axes, 0)} by`),
    ...bars(scene, matrix, top.map(({ query, value }) => [axes.queries[query].label, value])),
  ];
}

/**
 * What each of several heads attends to most, or what attends to it most.
 *
 * @param {Scene} scene
 * @param {number | undefined} query
 * @param {number | undefined} key
 */
function strandParts(scene, query, key) {
  const { axes, locked } = scene, attends = `attends most${amongOf(axes, 1)} to`;
  const name = query !== undefined
    ? rowName(axes.queries[query], query === locked ? ` is locked, ${attends}` : ` ${attends}`)
    : rowName(axes.keys[key ?? 0], ` is attended to most${amongOf(axes, 0)} by`);
  return [name, ...strandTops(scene, query, key).map(({ strand, text, value }) =>
    make("div", { className: "ae-strand" }, swatch(strand), make("span", { textContent: `${strand.head}` }),
      make("span", { className: "ae-bar-name", textContent: text || "masked" }),
      make("span", { className: "ae-bar-value", textContent: value === undefined ? "" : formatNumber(value) })))];
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
