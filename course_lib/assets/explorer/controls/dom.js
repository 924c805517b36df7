// @ts-check
// Elements of the page.

/**
 * A new element with properties, data attributes, ARIA attributes (and `role`), and children.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null)} children null is left out
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, properties = {}, ...children) {
  const { dataset = {}, aria = {}, ...rest } = properties;
  const node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.dataset, dataset);
  for (const [name, value] of Object.entries(aria))
    node.setAttribute(name === "role" ? name : `aria-${name}`, String(value));
  node.append(...children.filter((child) => child !== null));
  return node;
}

/**
 * A name that nothing else on the page has. Not a counter: each output of a notebook loads this script anew, and would
 * begin again at 1.
 */
export const uniqueName = () => `ae-${Math.random().toString(36).slice(2, 12)}`;

/** @typedef {{ colour: string, dashes: number }} LineStyle */

/** @param {HTMLElement} node @param {LineStyle} style */
export function styleSwatch(node, { colour, dashes }) {
  node.style.borderTop = `4px ${dashes ? (dashes < 40 ? "dashed" : "dotted") : "solid"} ${colour}`;
}

/**
 * A short line, as a head is drawn with.
 *
 * @param {LineStyle} style
 */
export function swatch(style) {
  const node = make("i", { className: "ae-swatch" });
  styleSwatch(node, style);
  return node;
}

/**
 * Stop JupyterLab from taking arrow keys and letters for its own shortcuts.
 *
 * @param {HTMLElement} root
 */
export function keepKeys(root) {
  for (const node of root.querySelectorAll("input, select, button, summary, [tabindex]"))
    if (node instanceof HTMLElement) node.dataset.lmSuppressShortcuts = "true";
}
