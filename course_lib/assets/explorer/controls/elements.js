// @ts-check
// The elements of an explorer, and how they are put together.

import { fillTable } from "./legend.js";
import { keepKeys, make } from "./dom.js";

/** @typedef {ReturnType<typeof buildElements>} Elements */

/**
 * @param {string} title
 * @param {HTMLElement[]} controls one for each tab
 * @param {{ savePng: () => void, saveHtml: () => void }} actions
 */
export function buildElements(title, controls, { savePng, saveHtml }) {
  /** @param {string} text @param {() => void} click */
  const button = (text, click) => {
    const node = make("button", { type: "button", textContent: text });
    node.addEventListener("click", click);
    return node;
  };
  /** @param {string} name */
  const canvas = (name) => make("canvas", { className: `ae-${name}`, aria: { hidden: true } });
  const canvases = { frame: canvas("frame"), cells: canvas("cells"), over: canvas("over") };
  const heading = make("div", { className: "ae-title" });
  const stage = make("div", { className: "ae-stage", tabIndex: 0, aria: { role: "application" } },
    ...Object.values(canvases));
  const scroller = make("div", { className: "ae-scroll" }, stage);
  const panel = make("div", { className: "ae-panel" });
  const cell = make("div", { className: "ae-inside", hidden: true });
  const legend = make("div", { className: "ae-legend" });
  const table = make("table");
  const details = make("details", {}, make("summary", { textContent: "The same as a table" }), table);
  const status = make("div", { className: "ae-status", aria: { role: "status" } });
  const main = make("div", { className: "ae-main" }, scroller, panel);
  const body = make("div", {}, ...controls, main, legend, cell, details);
  const buttons = make("span", { className: "ae-buttons" }, button("Save PNG", savePng), button("Save HTML", saveHtml));
  const root = make("section", { className: "ae", aria: { label: title } },
    make("div", { className: "ae-top" }, heading, buttons), body, status);
  return { canvases, heading, stage, scroller, panel, cell, legend, table, details, status, body, root };
}

/**
 * The heading in two parts: a page that has the title above the explorer hides the first.
 *
 * @param {HTMLElement} heading
 * @param {string} title
 * @param {string} text begins with the title
 */
export function fillHeading(heading, title, text) {
  const rest = text.slice(title.length).replace(/^, /, "");
  heading.replaceChildren(make("span", { className: "ae-what", textContent: rest ? `${title}, ` : title }), rest);
}

/**
 * Fill the table while it is open.
 *
 * @param {Elements} elements
 * @param {import("../scene.js").Scene} scene
 */
export function updateTable({ details, table }, scene) {
  if (details.open) fillTable(table, scene);
  keepKeys(details);
}
