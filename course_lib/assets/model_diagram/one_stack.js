// @ts-check
// The live diagram of a model of one stack. Attention goes to its whole row, so among the keys and
// values, the words of the target so far follow those of the source.

import { make } from "../explorer/controls/dom.js";
import { mount as mountDiagram } from "./diagram.js";
import { attentionText } from "./words.js";

/** @import { Diagram, Step } from "./diagram.js" */

/**
 * The tokens of the row that are attended to most in a step.
 *
 * @param {string[]} row
 * @param {Step} step
 */
export function rowText(row, step) {
  return attentionText(row, step).replace("cross-attention", "self-attention");
}

/**
 * In a page: replace what is in an element, the picture and the list of the parts, by the diagram.
 *
 * @param {HTMLElement} element
 * @param {{ diagram: Diagram, style: string }} code
 */
export async function mount(element, code) {
  await mountDiagram(element, code);
  const { source, target, steps } = code.diagram;
  const find = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (element.querySelector(selector));
  const root = find(".md"), reading = find(".md-reading"), status = find(".md-status");

  function showRow() {
    if (root.dataset.step === undefined) return; // hidden: no step is shown yet
    const step = Number(root.dataset.step), { attention } = steps[step], words = target.slice(0, step + 1);
    find(".md-box[data-part=memory] .md-chips").append(...words.map((word, i) => {
      const weight = attention[source.length + i];
      return make("li", { className: "md-chip", title: `${word}: ${weight.toFixed(2)}` },
        make("i", { style: `width: ${100 * weight}%` }), make("span", { textContent: word }));
    }));
    const text = rowText([...source, ...words], steps[step]);
    status.textContent = status.textContent?.replace(reading.textContent ?? "", () => text) ?? "";
    reading.textContent = text;
  }

  new MutationObserver(showRow).observe(root, { attributeFilter: ["data-step"] });
  showRow();
}
