// @ts-check
// Rows of checkboxes that choose several of many: heads to compare as lines, layers of the grid.

import { make } from "./dom.js";

/**
 * @typedef {object} Toggles
 * @property {HTMLElement} root
 * @property {HTMLInputElement[]} inputs
 */

/**
 * @param {object} options
 * @param {string} options.legend what is chosen, such as "heads"
 * @param {string} options.name of one, such as "head"
 * @param {number} options.count
 * @param {string[]} options.names of each, or none where they are only counted
 * @param {string} options.all the text of the button that chooses all
 * @param {string} options.reset the text of the other button
 * @param {() => number[]} options.chosen what is ticked
 * @param {(chosen: number[] | "all" | "reset") => void} options.choose
 * @param {(index: number | null) => void} [options.point] is called when the pointer or the focus is at one
 * @returns {Toggles}
 */
export function makeToggles({ legend, name, count, names, all, reset, chosen, choose, point = () => {} }) {
  const inputs = Array.from({ length: count }, (_, i) => {
    const input = make("input", { type: "checkbox", value: String(i), aria: { label: names[i] ?? `${name} ${i}` } });
    input.addEventListener("change", () => {
      const others = chosen().filter((other) => other !== i);
      choose(input.checked ? [...others, i] : others);
    });
    return input;
  });
  const labels = inputs.map((input, i) => {
    const label = make("label", { className: "ae-chip" }, input, make("i", { className: "ae-swatch" }), names[i] ?? String(i));
    for (const event of ["pointerenter", "focusin"]) label.addEventListener(event, () => point(i));
    for (const event of ["pointerleave", "focusout"]) label.addEventListener(event, () => point(null));
    return label;
  });
  const buttons = [["all", all], ["reset", reset]].map(([what, text]) => {
    const button = make("button", { type: "button", className: `ae-${what}`, textContent: text });
    button.addEventListener("click", () => choose(/** @type {"all" | "reset"} */ (what)));
    return button;
  });
  const root = make("fieldset", { className: `ae-toggles ae-${legend}` }, make("legend", { textContent: legend }),
    make("span", { className: "ae-soft", textContent: legend, aria: { hidden: true } }), ...labels, ...buttons);
  return { root, inputs };
}
