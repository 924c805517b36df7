// @ts-check
// Shapes that are typed: read, compared with the right one, and a hint that doesn't give it away.

const SHAPE = /^(?:torch\.Size)?[\s([]*([^()[\]]*)[\s)\]]*$/;
const BETWEEN = /\s*[,×x*;]\s*|\s+/;

/**
 * The shape in a text: "(2, 3)", "2 3", "[2, 3]", "2×3", "torch.Size([2, 3])"; null if it is none.
 * @param {string} text
 * @returns {number[] | null}
 */
export function parseShape(text) {
  const inner = SHAPE.exec(text.trim())?.[1];
  if (inner === undefined || !text.trim()) return null;
  const listed = inner.trim().replace(/,$/, "");
  const sizes = listed ? listed.split(BETWEEN) : [];
  return sizes.every((size) => /^[0-9]{1,9}$/.test(size)) ? sizes.map(Number) : null;
}

/**
 * A shape as Python writes it.
 * @param {number[]} shape
 */
export function written(shape) {
  return shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
}

/**
 * What is wrong with a shape, without giving the right one away; "" if nothing is.
 * @param {number[]} given
 * @param {number[]} right
 */
export function hintFor(given, right) {
  const axes = (/** @type {number} */ count) => `${count} ${count === 1 ? "axis" : "axes"}`;
  if (given.length !== right.length) return `you gave ${axes(given.length)}, it has ${axes(right.length)}`;
  const off = given.map((size, i) => (size === right[i] ? "" : String(i))).filter(Boolean);
  if (!off.length) return "";
  const sorted = (/** @type {number[]} */ shape) => [...shape].sort((a, b) => a - b).join();
  if (sorted(given) === sorted(right)) return "these are the right sizes, in another order";
  const last = off.pop();
  const listed = off.length ? `axes ${off.join(", ")} and ${last}` : `axis ${last}`;
  return `look again at ${listed}, counted from 0`;
}
