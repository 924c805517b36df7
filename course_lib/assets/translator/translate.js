// @ts-check
// A sentence in, its translation out, with all that the model computed on the way.

import { beamSearch, greedyDecode, rowOf, softmax } from "./transformer.js";
import { SPECIAL, isBlank } from "./words.js";

/** @import { AttentionWeights, Matrix } from "./transformer.js" */
/** @import { Tokenizer, TrainedModel } from "./weights.js" */

/**
 * A word as one would write it, with what stands before it, and the tokens that form it: from `start` to before `end`.
 *
 * @typedef {{ text: string, start: number, end: number }} Word
 */

/**
 * @typedef {object} Translation
 * @property {string[]} source tokens
 * @property {string[]} unknown source tokens that the model reads as <unk>, each once
 * @property {string[]} input the tokens that the decoder reads: <bos>, then what it has generated
 * @property {string[]} target the token that it generates at each step, <eos> included
 * @property {number[]} targetIds their ids
 * @property {string} text
 * @property {boolean} finished whether <eos> was generated
 * @property {number} logProb of the whole translation, in nats
 * @property {Float32Array} probabilities of the generated tokens
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
export function translate(trained, text, width) {
  const tokens = isBlank(text) ? [] : trained.source.split(text), { max_len } = trained.transformer.config;
  if (!tokens.length)
    throw new RangeError("Expected a German sentence, got an empty one: type one, or choose an example.");
  if (tokens.length > max_len)
    throw new RangeError(`Expected at most ${max_len} words and punctuation marks, got ${tokens.length}: ` +
      "the model has positions for no more, so split the text into shorter sentences.");
  return translateTokens(trained, tokens, width);
}

/**
 * The translation of a sentence that is neither empty nor too long.
 *
 * @param {TrainedModel} trained
 * @param {string[]} source tokens
 * @param {number} width of the beam; 0 decodes greedily
 * @returns {Translation}
 */
export function translateTokens({ transformer, source: reads, target: writes }, source, width) {
  const { bos_id, eos_id } = transformer.config;
  const unk = reads.ids.get("<unk>") ?? 0;
  const { memory, attention: encoder } = transformer.encode(source.map((token) => reads.ids.get(token) ?? unk));
  const { tokens, logProb } = width ? beamSearch(transformer, memory, { width }) : greedyDecode(transformer, memory);
  // Once more in one pass, as in training: row t of logits and weights is the step that generates token t.
  const input = [bos_id, ...tokens.slice(0, -1)], { logits, decoder, cross } = transformer.decode(input, memory);
  const target = tokens.map((token) => writes.tokens[token]);
  return {
    source, unknown: [...new Set(source.filter((token) => !reads.ids.has(token)))],
    input: input.map((token) => writes.tokens[token]), target, targetIds: tokens,
    text: textOf(writes, target), finished: tokens.at(-1) === eos_id, logProb,
    probabilities: Float32Array.from(tokens, (token, step) => softmax(rowOf(logits, step))[token]),
    logits, attention: { encoder, decoder, cross },
  };
}

/** @param {Tokenizer} tokenizer @param {string[]} tokens */
const textOf = (tokenizer, tokens) => tokenizer.join(tokens.filter((token) => !SPECIAL.includes(token)));

/**
 * The words that tokens form; joined, they are the text.
 *
 * @param {Tokenizer} tokenizer
 * @param {string[]} tokens
 * @returns {Word[]}
 */
export function wordsOf(tokenizer, tokens) {
  const starts = [...tokens.keys()].filter((i) => !i || !tokenizer.continues(tokens[i - 1], tokens[i]));
  const ends = [...starts.slice(1), tokens.length];
  const texts = ["", ...ends.map((end) => textOf(tokenizer, tokens.slice(0, end)))];
  return starts.map((start, i) => ({ text: texts[i + 1].slice(texts[i].length), start, end: ends[i] }));
}
