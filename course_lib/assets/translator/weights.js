// @ts-check
// Unpacks the model that Python packed (course_lib/viz/web/packed_model.py).

import { Subwords } from "./subwords.js";
import { Transformer, makeMatrix } from "./transformer.js";
import { Vocabulary } from "./words.js";

/** @import { Config, Matrix } from "./transformer.js" */

/** @typedef {Vocabulary | Subwords} Tokenizer */
/** @typedef {{ words: string[] } | { tokens: string[], merges: string[] }} PackedTokenizer */

/**
 * A model with its tokenizers, which are one if the languages share a vocabulary.
 *
 * @typedef {object} TrainedModel
 * @property {Transformer} transformer
 * @property {Tokenizer} source
 * @property {Tokenizer} target
 * @property {number[] | null} evidence for each token that a text with it is German, in nats; null: not known
 * @property {string} knownCharacters those that the German sentences have on which the model was trained
 * @property {[source: string, target: string][]} examples for buttons
 * @property {[source: string, target: string][]} sentences with a right translation of each
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
 * The model in a file: the length of a JSON header, the header, and each tensor's numbers; deflated. They are 16-bit
 * floating-point numbers, all high bytes before all low bytes. With `bits` 8, those of a matrix are whole numbers
 * from -127 to 127, after a 32-bit scale for each row.
 *
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<TrainedModel>}
 */
export async function unpackModel(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  /** @type {{ config: Config, bits: 8 | 16, tensors: [name: string, rows: number, columns: number][],
   *   source: PackedTokenizer, target: PackedTokenizer | null } & Omit<TrainedModel, "transformer">} */
  const { config, bits, tensors, source, target, ...rest } =
    JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let start = 4 + length;
  const take = (/** @type {number} */ count) => bytes.slice(start, (start += count));
  const halves = Float32Array.from({ length: 0x10000 }, (_, half) => fromHalf(half));
  /** @type {Record<string, Matrix>} */
  const weights = {};
  for (const [name, rows, columns] of tensors) {
    const count = rows * columns, matrix = weights[name] = makeMatrix(rows, columns);
    if (bits === 8 && rows > 1) {
      const scales = new Float32Array(take(4 * rows).buffer), whole = new Int8Array(take(count).buffer);
      for (let i = 0; i < count; i++) matrix.data[i] = whole[i] * scales[Math.floor(i / columns)];
    } else {
      const high = take(count), low = take(count);
      for (let i = 0; i < count; i++) matrix.data[i] = halves[(high[i] << 8) | low[i]];
    }
  }
  const tokenizer = makeTokenizer(source);
  return { transformer: new Transformer(config, weights),
    source: tokenizer, target: target ? makeTokenizer(target) : tokenizer, ...rest };
}

/** @param {PackedTokenizer} packed */
const makeTokenizer = (packed) =>
  "words" in packed ? new Vocabulary(packed.words) : new Subwords(packed.tokens, packed.merges);

/** The model that a page holds as text. @param {string} base64 */
export function unpackText(base64) {
  const text = atob(base64), packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i); // faster than Uint8Array.from with a function
  return unpackModel(packed);
}
