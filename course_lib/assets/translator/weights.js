// @ts-check
// Unpacks the model that Python packed (course_lib/viz/web/translator_page.py).

import { Transformer, makeMatrix } from "./transformer.js";

/** @import { Config, Matrix } from "./transformer.js" */

/**
 * A model and the words that its ids stand for, special tokens included.
 *
 * @typedef {object} TrainedModel
 * @property {Transformer} transformer
 * @property {string[]} sourceWords
 * @property {string[]} targetWords
 * @property {[source: string, target: string][]} examples for buttons
 * @property {[source: string, target: string][]} sentences of the grammar, with their right translations
 */

/**
 * A 16-bit floating-point number: a sign, 5 bits of exponent, 10 bits of fraction (IEEE 754).
 *
 * @param {number} bits
 */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24);
}

/**
 * The model in a file: the length of a JSON header, the header, and all weights as 16-bit floating-point
 * numbers, the high bytes of all before the low bytes of all; deflated.
 *
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<TrainedModel>}
 */
export async function unpackModel(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  /** @type {{ config: Config, tensors: [name: string, rows: number, columns: number][] }
   *   & Omit<TrainedModel, "transformer">} */
  const { config, tensors, ...rest } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const table = Float32Array.from({ length: 0x10000 }, (_, bits) => fromHalf(bits));
  const high = 4 + length, count = (bytes.length - high) / 2, numbers = new Float32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = table[(bytes[high + i] << 8) | bytes[high + count + i]];
  /** @type {Record<string, Matrix>} */
  const weights = {};
  let start = 0;
  for (const [name, rows, columns] of tensors)
    weights[name] = makeMatrix(rows, columns, numbers.subarray(start, (start += rows * columns)));
  return { transformer: new Transformer(config, weights), ...rest };
}
