// @ts-check
// From a query and a key to one weight, step by step. Pure functions.

import { MEAN } from "../constants.js";
import { axesOf, matrixOf } from "./data.js";
import { vectorsOf } from "./numbers.js";

/** @import { Attention } from "./data.js" */

/**
 * How the weight of one cell is computed. Parts that are not stored are null.
 *
 * @typedef {object} CellSteps
 * @property {number} weight
 * @property {boolean} masked
 * @property {{ query: Float32Array, key: Float32Array, products: Float32Array } | null} numbers
 * @property {{ score: number, root: number, scaled: number, largest: number, sum: number } | null} scores `root` is
 *   √d_head, `largest` the row's largest scaled score that is not masked, and `sum` the row's sum of
 *   e^(scaled − largest)
 */

/**
 * @param {Attention} attention
 * @param {{ layer: number, head: number }} where
 * @param {number} query index of its token
 * @param {number} key index of its token
 * @returns {CellSteps}
 */
export function stepsOf(attention, { layer, head }, query, key) {
  const axes = axesOf(attention, false); // of all tokens: the softmax is over the whole row
  const at = query * attention.nKeys + key, masked = Boolean(attention.masked[at]);
  const weight = matrixOf(attention, axes, "weights", layer, head).values[at];
  if (!attention.hasScores || head === MEAN) return { weight, masked, numbers: null, scores: null };
  const vectors = vectorsOf(attention, layer * attention.nHeads + head, query, key);
  const numbers = vectors && { ...vectors, products: vectors.query.map((number, i) => number * vectors.key[i]) };
  const row = matrixOf(attention, axes, "masked", layer, head).values
    .subarray(query * attention.nKeys, (query + 1) * attention.nKeys);
  const visible = row.filter((_, k) => !attention.masked[query * attention.nKeys + k]);
  const root = Math.sqrt(attention.dHead ?? 1), scaled = row[key], largest = Math.max(...visible);
  const sum = visible.reduce((total, value) => total + Math.exp(value - largest), 0);
  return { weight, masked, numbers, scores: { score: scaled * root, root, scaled, largest, sum } };
}
