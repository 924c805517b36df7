// @ts-check
// Unpacks what Python packed (course_lib/viz/explorer/explorer_pack.py).

/** @import { Attention } from "./data.js" */
/** @import { Quantised } from "./numbers.js" */

/** @param {BlobPart} bytes */
async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * One attention for each tab, in their order.
 *
 * @param {Uint8Array<ArrayBuffer>} packed
 * @returns {Promise<Attention[]>}
 */
export async function unpack(packed) {
  const bytes = await inflate(packed);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const { title, pad, attentions } = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let start = 4 + length;

  // All high bytes come before all low bytes, because deflate compresses them better that way.
  /** @param {number} count @param {[low: number, high: number]} limits @returns {Quantised} */
  const take = (count, [low, high]) => {
    const levels = new Uint16Array(count);
    for (let i = 0; i < count; i++) levels[i] = (bytes[start + i] << 8) | bytes[start + count + i];
    start += 2 * count;
    return { levels, low, high };
  };
  return attentions.map((/** @type {any} */ header) => {
    const { kind, queryTokens, keyTokens, queryWords, keyWords, gold, dHead, limits, secondSentence = null,
      languages = [], layerNames = [], headNames = [] } = header;
    const [nLayers, nHeads, nQueries, nKeys] = header.shape, heads = nLayers * nHeads;
    const masked = Uint8Array.from({ length: nQueries * nKeys }, (_, i) => +(header.masked[i] ?? 0));
    const nWords = queryWords.at(-1) + keyWords.at(-1) + 2;
    const weights = take(heads * nQueries * nKeys, [0, 1]);
    /** @param {"queries" | "keys" | "scores"} name @param {number} count */
    const optional = (name, count) => (limits[name] ? take(count, limits[name]) : null);
    const queries = optional("queries", heads * nQueries * dHead);
    const keys = optional("keys", heads * nKeys * dHead);
    const scores = optional("scores", heads * nQueries * nKeys);
    return {
      title, pad, kind, nLayers, nHeads, nQueries, nKeys, queryTokens, keyTokens, queryWords, keyWords, gold, dHead,
      weights, queries, keys, scores, hasScores: Boolean(scores ?? queries), masked,
      anyMasked: masked.includes(1), hasSubwords: nWords < nQueries + nKeys, secondSentence, languages, layerNames,
      headNames, hasMean: nHeads > 1 && !headNames.length,
    };
  });
}
