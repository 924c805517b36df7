// @ts-check
// Numbers as Python stores them, and the products of queries and keys. Pure functions.

import { QUANTISATION_LEVELS } from "../constants.js";

/** @import { Attention } from "./data.js" */

/**
 * Numbers stored as integers from 0 to QUANTISATION_LEVELS, which stand for `low` to `high`.
 *
 * @typedef {object} Quantised
 * @property {Uint16Array} levels row after row
 * @property {number} low
 * @property {number} high
 */

/**
 * Add some of the numbers, each times `factor`, to as many values.
 *
 * @param {Float32Array} values
 * @param {Quantised} stored
 * @param {number} start index of the first
 * @param {number} factor
 */
export function addNumbers(values, { levels, low, high }, start, factor) {
  const slope = ((high - low) / QUANTISATION_LEVELS) * factor, shift = low * factor;
  for (let i = 0; i < values.length; i++) values[i] += levels[start + i] * slope + shift;
}

/**
 * A number as it is read: with a minus sign, and with none before a zero.
 *
 * @param {number} value
 * @param {number} [digits] after the point
 */
export const decimals = (value, digits = 3) => value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");

/**
 * A vector or several, one after the other.
 *
 * @param {Quantised} stored
 * @param {number} start index of the first number
 * @param {number} count of numbers
 */
function numbersOf(stored, start, count) {
  const values = new Float32Array(count);
  addNumbers(values, stored, start, 1);
  return values;
}

/**
 * Add the scores of a head, each times `factor`. They are stored, or they are query · key.
 *
 * @param {Float32Array} values (query, key)
 * @param {Attention} attention
 * @param {number} index of the head, counted through all layers
 * @param {number} factor
 */
export function addScores(values, { scores, queries, keys, nQueries, nKeys, dHead }, index, factor) {
  if (scores) return addNumbers(values, scores, index * values.length, factor);
  if (!queries || !keys || !dHead) return;
  const q = numbersOf(queries, index * nQueries * dHead, nQueries * dHead);
  const k = numbersOf(keys, index * nKeys * dHead, nKeys * dHead);
  for (let row = 0; row < nQueries; row++) for (let column = 0; column < nKeys; column++) {
    let sum = 0;
    for (let i = 0; i < dHead; i++) sum += q[row * dHead + i] * k[column * dHead + i];
    values[row * nKeys + column] += sum * factor;
  }
}

/**
 * The query of one row and the key of one column, number by number, or null where they are not stored.
 *
 * @param {Attention} attention
 * @param {number} index of the head, counted through all layers
 * @param {number} query
 * @param {number} key
 */
export function vectorsOf({ queries, keys, nQueries, nKeys, dHead }, index, query, key) {
  if (!queries || !keys || !dHead) return null;
  return {
    query: numbersOf(queries, (index * nQueries + query) * dHead, dHead),
    key: numbersOf(keys, (index * nKeys + key) * dHead, dHead),
  };
}
