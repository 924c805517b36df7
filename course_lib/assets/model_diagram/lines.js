// @ts-check
// The arrows, their shapes, and the light that runs along them when the reader takes a step.

import { PULSE } from "./constants.js";

/** @import { Layout } from "./diagram.js" */

/**
 * @typedef {object} Arrow
 * @property {[x: number, y: number][]} points
 * @property {string} stack
 * @property {number} order
 * @property {string} text a shape, in which {t} is the number of target words, or a remark
 * @property {[x: number, y: number] | null} label
 * @property {boolean} head
 * @property {boolean} aside whether the text runs along the line, from the top
 */

const HEAD = 7; // how long an arrow's head is

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function svg(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

/**
 * The path of an arrow's line, and of its head.
 *
 * @param {[x: number, y: number][]} points
 */
export function pathsOf(points) {
  const line = points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join("");
  const [[x0, y0], [x, y]] = points.slice(-2);
  const length = Math.hypot(x - x0, y - y0) || 1;
  const [dx, dy] = [((x - x0) / length) * HEAD, ((y - y0) / length) * HEAD];
  const head = `M${x} ${y}L${x - dx - dy / 2} ${y - dy + dx / 2}L${x - dx + dy / 2} ${y - dy - dx / 2}Z`;
  return { line, head };
}

/**
 * @param {SVGSVGElement} root is filled
 * @param {Layout} layout
 */
export function drawLines(root, { width, height, frames, arrows }) {
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const boxes = Object.entries(frames).flatMap(([name, [x, y, w, h]]) => {
    const text = svg("text", { x: x + 8, y: y + h - 11, class: "md-stack" });
    text.textContent = name;
    return [svg("rect", { x, y, width: w, height: h, rx: 8, class: "md-frame" }), text];
  });
  const drawn = arrows.flatMap(({ points, stack, order, text, label, head, aside }) => {
    const paths = pathsOf(points), nodes = [svg("path", { d: paths.line, class: "md-line" })];
    if (head) nodes.push(svg("path", { d: paths.head, class: "md-head" }));
    const pulse = svg("path", { d: paths.line, class: "md-pulse", pathLength: 1, "data-stack": stack });
    pulse.style.animationDelay = `${order * PULSE.delay}s`;
    pulse.style.animationDuration = `${PULSE.seconds}s`;
    nodes.push(pulse);
    if (label) {
      const start = { x: label[0], y: label[1], "data-text": text };
      nodes.push(svg("text", aside ? { ...start, "text-anchor": "middle", class: "md-stack md-aside" }
        : { ...start, class: "md-shape" }));
    }
    return nodes;
  });
  root.replaceChildren(...boxes, ...drawn);
}

/**
 * Write the shapes for a number of target words.
 *
 * @param {SVGSVGElement} root
 * @param {number} count
 */
export function writeShapes(root, count) {
  for (const label of root.querySelectorAll("[data-text]"))
    label.textContent = (label.getAttribute("data-text") ?? "").replace("{t}", String(count));
}

/**
 * Let the light run: through the encoder only in the first step, since it reads the sentence once.
 *
 * @param {SVGSVGElement} root
 * @param {boolean} first
 */
export function movePulse(root, first) {
  for (const pulse of /** @type {NodeListOf<SVGElement>} */ (root.querySelectorAll(".md-pulse"))) {
    pulse.classList.remove("md-run");
    void pulse.getBoundingClientRect(); // otherwise the animation would not start again
    if (first || pulse.dataset.stack === "decoder") pulse.classList.add("md-run");
  }
}
