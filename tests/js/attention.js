// @ts-check
// Attention for the tests, small enough to be checked by hand.

import { deflateSync } from "node:zlib";

import { QUANTISATION_LEVELS } from "../../course_lib/assets/explorer/constants.js";
import { unpack } from "../../course_lib/assets/explorer/data.js";

const QUERIES = ["▁the", "▁dog", "<pad>"];
const KEYS = ["▁Don", "au", "▁fluss", "<pad>"];

/** One layer of two heads: the last key is masked, and so is the whole last query. */
const WEIGHTS = [
  [[0.5, 0.25, 0.25, 0], [0, 0, 1, 0], [0, 0, 0, 0]],
  [[0.25, 0.25, 0.5, 0], [1, 0, 0, 0], [0, 0, 0, 0]],
];
const MASKED = "0001" + "0001" + "1111";

/**
 * What Python's `pack` writes.
 *
 * @param {Record<string, any>} header
 * @param {number[][]} arrays of shares between 0 and 1
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function pack(header, arrays) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, text.length, true);
  const planes = arrays.flatMap((shares) => {
    const levels = shares.map((share) => Math.round(share * QUANTISATION_LEVELS));
    return [...levels.map((level) => level >> 8), ...levels.map((level) => level & 255)];
  });
  return new Uint8Array(deflateSync(new Uint8Array([...length, ...text, ...planes])));
}

/**
 * @param {Record<string, any>} [changes] to the header
 * @param {{ scores?: boolean }} [options] with scores from -8 (where the weight is 0) to 8 (1)
 */
export function makeAttention(changes = {}, { scores = false } = {}) {
  const header = {
    title: "By hand", kind: "cross", shape: [1, 2, 3, 4], queries: QUERIES, keys: KEYS,
    queryWords: [0, 1, 2], keyWords: [0, 0, 1, 2], masked: MASKED, gold: [], pad: "<pad>", dHead: null,
    ...(scores ? { low: -8, high: 8, dHead: 16 } : {}), ...changes,
  };
  const shares = WEIGHTS.flat(2);
  return unpack(pack(header, scores ? [shares, shares] : [shares]));
}

/**
 * A state with changes.
 *
 * @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} [changes]
 * @returns {import("../../course_lib/assets/explorer/constants.js").State}
 */
export const makeState = (changes = {}) => ({
  layer: 0, head: 0, view: "heatmap", step: "weights", query: null, joined: false, gold: true, stretch: false,
  palette: "mako", ...changes,
});

/**
 * Numbers without the error of the quantisation.
 *
 * @param {Iterable<number>} values
 */
export const rounded = (values) => [...values].map((value) => Number(value.toFixed(3)) + 0);
