// @ts-check
// Text in, text out, with all that the model computed on the way.

import { beamSearch, greedyDecode } from "./transformer.js";
import { joinWords, splitWords } from "./words.js";

/** @import { AttentionWeights, Matrix } from "./transformer.js" */
/** @import { TrainedModel } from "./weights.js" */

const SPECIAL = ["<pad>", "<bos>", "<eos>"]; // generated, perhaps, but no part of the text

/**
 * @typedef {object} Translation
 * @property {string[]} sourceWords
 * @property {string[]} unknown source words that the model reads as <unk>, each once
 * @property {string[]} inputWords what the decoder reads at each step: <bos>, then what it has generated
 * @property {string[]} targetWords what it generates at each step, <eos> included
 * @property {number[]} targetIds their ids
 * @property {string} text
 * @property {boolean} finished whether <eos> was generated
 * @property {number} logProb of the whole translation, in nats
 * @property {Matrix} logits of each step (steps, target vocabulary)
 * @property {{ encoder: AttentionWeights, decoder: AttentionWeights, cross: AttentionWeights }} attention
 */

/**
 * Throws a RangeError, with a message for the reader, for a text that is empty or too long.
 *
 * @param {TrainedModel} trained
 * @param {string} text
 * @param {number} width of the beam; 0 decodes greedily
 * @returns {Translation}
 */
export function translate({ transformer, sourceWords: known, targetWords }, text, width) {
  const sourceWords = splitWords(text), { bos_id, eos_id, max_len } = transformer.config;
  if (!sourceWords.length)
    throw new RangeError("Expected a German sentence, got an empty one: type one, or choose an example.");
  if (sourceWords.length > max_len)
    throw new RangeError(`Expected at most ${max_len} words and punctuation marks, got ${sourceWords.length}: ` +
      "the model has positions for no more, so split the text into shorter sentences.");
  const ids = new Map(known.map((word, id) => [word, id])), unk = ids.get("<unk>") ?? 0;
  const source = sourceWords.map((word) => ids.get(word) ?? unk);
  const { memory, attention: encoder } = transformer.encode(source);
  const { tokens, logProb } = width ? beamSearch(transformer, memory, { width }) : greedyDecode(transformer, memory);
  // Once more in one pass, as in training: row t of logits and weights is the step that generates token t.
  const input = [bos_id, ...tokens.slice(0, -1)], { logits, decoder, cross } = transformer.decode(input, memory);
  const words = tokens.map((token) => targetWords[token]);
  return {
    sourceWords, unknown: [...new Set(sourceWords.filter((word) => !ids.has(word)))],
    inputWords: input.map((token) => targetWords[token]), targetWords: words, targetIds: tokens,
    text: joinWords(words.filter((word) => !SPECIAL.includes(word))), finished: tokens.at(-1) === eos_id,
    logProb, logits, attention: { encoder, decoder, cross },
  };
}
