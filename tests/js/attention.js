// @ts-check
// Attention for the tests, small enough to be checked by hand.

import { deflateSync } from "node:zlib";

import { QUANTISATION_LEVELS } from "../../course_lib/assets/explorer/constants.js";
import { unpack } from "../../course_lib/assets/explorer/data/unpack.js";

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

const HEADER = {
  kind: "cross", shape: [1, 2, 3, 4], queryTokens: QUERIES, keyTokens: KEYS, queryWords: [0, 1, 2],
  keyWords: [0, 0, 1, 2], masked: MASKED, gold: [], dHead: null, limits: {},
};

/**
 * @param {Record<string, any>} [changes] to the header
 * @param {{ scores?: boolean }} [options] with scores from -8 (where the weight is 0) to 8 (1)
 */
export async function makeAttention(changes = {}, { scores = false } = {}) {
  const header = { ...HEADER, ...(scores ? { limits: { scores: [-8, 8] }, dHead: 16 } : {}), ...changes };
  const shares = WEIGHTS.flat(2), arrays = scores ? [shares, shares] : [shares];
  const [attention] = await unpack(pack({ title: "By hand", pad: "<pad>", attentions: [header] }, arrays));
  return attention;
}

/** One head whose queries and keys have two numbers each, between -4 and 4: it stores no scores. */
export const QUERY_NUMBERS = [[1, 2], [-1, 0], [0, 0]], KEY_NUMBERS = [[2, 1], [0, -1], [4, -4], [0, 0]];

export async function makeProducts() {
  const header = {
    ...HEADER, shape: [1, 1, 3, 4], masked: "0001" + "0001" + "1111", dHead: 2,
    limits: { queries: [-4, 4], keys: [-4, 4] },
  };
  const [queries, keys] = [QUERY_NUMBERS, KEY_NUMBERS].map((rows) => rows.flat().map((number) => (number + 4) / 8));
  const weights = QUERY_NUMBERS.flatMap((q, i) => {
    const powers = KEY_NUMBERS.map((k, j) =>
      i === 2 || j === 3 ? 0 : Math.exp((q[0] * k[0] + q[1] * k[1]) / Math.SQRT2));
    const sum = powers.reduce((a, b) => a + b) || 1;
    return powers.map((power) => power / sum);
  });
  const packed = pack({ title: "By hand", pad: "<pad>", attentions: [header] }, [weights, queries, keys]);
  const [attention] = await unpack(packed);
  return attention;
}

/** The encoder's and the decoder's attention to themselves, and the cross-attention, in this order. */
export function makeModel() {
  const own = { shape: [2, 1, 2, 2], keyTokens: ["a", "b"], queryTokens: ["a", "b"], queryWords: [0, 1], keyWords: [0, 1] };
  const attentions = [{ ...HEADER, ...own, kind: "self", masked: "" }, { ...HEADER, ...own, kind: "causal", masked: "0100" },
    { ...HEADER, limits: { scores: [-8, 8] }, dHead: 16 }];
  const cross = WEIGHTS.flat(2), self = [1, 0, 0, 1, 0.5, 0.5, 1, 0], causal = [1, 0, 0, 1, 1, 0, 0.25, 0.75];
  return unpack(pack({ title: "Model", pad: "<pad>", attentions }, [self, causal, cross, cross]));
}

/**
 * A state with changes.
 *
 * @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} [changes]
 * @returns {import("../../course_lib/assets/explorer/constants.js").State}
 */
export const makeState = (changes = {}) => ({
  kind: "cross", layer: 0, head: 0, heads: [], layers: [], view: "heatmap", step: "weights", query: null, key: null,
  joined: false, gold: true, stretch: false, palette: "slate", ...changes,
});

/**
 * Numbers without the error of the quantisation.
 *
 * @param {Iterable<number>} values
 */
export const rounded = (values) => [...values].map((value) => Number(value.toFixed(3)) + 0);

/** Two sentences of two tokens each in one sequence; the second begins with "##c", a subword of its own word. */
export async function makePair() {
  const tokens = ["a", "b", "##c", "d"], words = [0, 1, 2, 3];
  const header = {
    ...HEADER, kind: "self", shape: [1, 1, 4, 4], queryTokens: tokens, keyTokens: tokens, queryWords: words,
    keyWords: words, masked: "", gold: [[0, 0], [2, 0], [3, 1]], secondSentence: 2,
  };
  const weights = [0.5, 0.25, 0.125, 0.125, 0, 0, 0.25, 0.75, 1, 0, 0, 0, 0.25, 0.25, 0.25, 0.25];
  const [attention] = await unpack(pack({ title: "Pair", pad: "<pad>", attentions: [header] }, [weights]));
  return attention;
}
