// @ts-check
// What is known of the attention, and the matrices that are computed from it. Pure functions.

import { MEAN } from "../constants.js";
import { addNumbers, addScores } from "./numbers.js";

/** @import { Kind, Sentences, Step } from "../constants.js" */
/** @import { Quantised } from "./numbers.js" */

/**
 * One kind of attention, and all that is known about it.
 *
 * @typedef {object} Attention
 * @property {string} title
 * @property {Kind} kind
 * @property {number} nLayers
 * @property {number} nHeads
 * @property {number} nQueries
 * @property {number} nKeys
 * @property {string[]} queryTokens
 * @property {string[]} keyTokens
 * @property {number[]} queryWords the word that each query token belongs to
 * @property {number[]} keyWords the word that each key token belongs to
 * @property {Quantised} weights (layers, heads, query, key)
 * @property {Quantised | null} scores query · key, before scaling and mask
 * @property {Quantised | null} queries (layers, heads, query, dHead); with the keys they are stored in place of
 *   scores
 * @property {Quantised | null} keys (layers, heads, key, dHead)
 * @property {boolean} hasScores whether the steps before the softmax are known
 * @property {number | null} dHead the scores are divided by its square root
 * @property {Uint8Array} masked (query, key), 1 = may not attend
 * @property {boolean} anyMasked
 * @property {boolean} hasSubwords whether some word consists of several tokens
 * @property {[key: number, query: number][]} gold the right links, as token indices
 * @property {string} pad the padding token
 * @property {number | null} secondSentence index of its first token, of two sentences in one sequence
 * @property {("german" | "english")[]} languages of the queries and of the keys; empty where they are not known
 * @property {string[]} layerNames empty where the layers are only counted
 * @property {string[]} headNames
 * @property {boolean} hasMean whether a mean of the heads means something: where they have names, it does not
 */

/**
 * One row or one column: a token, or a word whose subwords are joined.
 *
 * @typedef {object} Group
 * @property {number[]} members token indices
 * @property {string} text
 * @property {string} label the text as it is drawn: a comma alone would look like a speck, a space like nothing
 * @property {boolean} pad
 * @property {"german" | "english" | "ink" | "soft"} ink the colour of its label
 */

/** @typedef {{ query: number, key: number }} Link */

/**
 * The rows and columns of a matrix, with the gold links between them.
 *
 * @typedef {object} Axes
 * @property {boolean} joined
 * @property {Sentences} sentences whose queries and keys they are
 * @property {Group[]} queries
 * @property {Group[]} keys
 * @property {Link[]} gold
 */

/**
 * One head at one step, row after row.
 *
 * @typedef {object} Matrix
 * @property {Float32Array} values
 * @property {Uint8Array} masked 1 = may not attend
 * @property {number} rows one for each query
 * @property {number} columns one for each key
 * @property {Step} step
 */

/** @param {number} count */
export const range = (count) => Array.from({ length: count }, (_, i) => i);

const SPECK = /^[^\p{L}\p{N}\s_]{1,2}$/u;

/**
 * What the rows and columns stand for: tokens, or words whose subwords are joined; those of all tokens, or the
 * queries of one sentence and the keys of one.
 *
 * @param {Attention} attention
 * @param {boolean} joined
 * @param {Sentences} [sentences]
 * @returns {Axes}
 */
export function axesOf(attention, joined, sentences = "all") {
  /** @param {string[]} tokens @param {number[]} words @param {0 | 1} side */
  const groupsOf = (tokens, words, side) => {
    /** @type {Group[]} */
    const groups = [];
    tokens.forEach((token, i) => {
      const group = (groups[joined ? words[i] : i] ??= { members: [], text: "", label: "", pad: true, ink: "soft" });
      group.members.push(i);
      group.text += joined ? token.replace(/^[▁Ġ]|^##|@@$/g, "") : token.replace(/^Ġ/, "▁");
      group.pad &&= token === attention.pad;
    });
    for (const group of groups) {
      const text = group.text.replaceAll("\n", "↵").replaceAll("\t", "⇥");
      if (!group.pad) group.ink = attention.languages[side] ?? "ink";
      group.label = SPECK.test(text) || !text.trim() || text !== group.text ? `“${text}”` : text;
    }
    return groups;
  };
  /** @param {string[]} tokens @param {number[]} words @param {0 | 1} side */
  const chosen = (tokens, words, side) => groupsOf(tokens, words, side)
    .filter(({ members: [token] }) => inSentence(attention, sentences, side, token));
  const queries = chosen(attention.queryTokens, attention.queryWords, 0);
  const keys = chosen(attention.keyTokens, attention.keyWords, 1);
  /** @type {Map<string, Link>} */
  const gold = new Map(); // links between the same two words count once
  for (const [keyToken, queryToken] of attention.gold) {
    const query = groupIndex(queries, queryToken), key = groupIndex(keys, keyToken);
    if (query >= 0 && key >= 0) gold.set(`${query},${key}`, { query, key });
  }
  return { joined, sentences, queries, keys, gold: [...gold.values()] };
}

/**
 * Whether a token is in the sentence that is chosen for its side.
 *
 * @param {Attention} attention
 * @param {Sentences} sentences
 * @param {0 | 1} side 0 for queries, 1 for keys
 * @param {number} token
 */
export const inSentence = ({ secondSentence }, sentences, side, token) =>
  sentences === "all" || secondSentence === null || (token < secondSentence) === (sentences[side] === "A");

/**
 * The group that a token belongs to, or -1.
 *
 * @param {Group[]} groups
 * @param {number} token
 */
export const groupIndex = (groups, token) => groups.findIndex((group) => group.members.includes(token));

/**
 * One head, or the mean of all, at one step from scores to weights.
 *
 * @param {Attention} attention
 * @param {Axes} axes
 * @param {Step} step
 * @param {number} layer
 * @param {number} head
 * @returns {Matrix}
 */
export function matrixOf(attention, axes, step, layer, head) {
  if (step !== "weights" && !attention.hasScores)
    throw new Error(`expected scores for the step "${step}", got weights only`);
  const size = attention.nQueries * attention.nKeys, values = new Float32Array(size);
  const heads = head === MEAN ? range(attention.nHeads) : [head];
  const divided = step === "scaled" || step === "masked";
  const share = (divided && attention.dHead ? 1 / Math.sqrt(attention.dHead) : 1) / heads.length;
  for (const h of heads) {
    const index = layer * attention.nHeads + h;
    if (step === "weights") addNumbers(values, attention.weights, index * size, share);
    else addScores(values, attention, index, share);
  }
  const masked = step === "masked" || step === "weights" ? attention.masked : new Uint8Array(size);
  const matrix = { values, masked, rows: attention.nQueries, columns: attention.nKeys, step };
  return axes.joined || axes.sentences !== "all" ? matrixOfGroups(matrix, axes) : matrix;
}

/**
 * Weights are summed over the subwords of a key and averaged over those of a query (Clark et al. 2019). They are
 * not renormalised: of one sentence alone, a row sums to less than 1.
 *
 * @param {Matrix} matrix of tokens
 * @param {Axes} axes of words, or of some of the tokens
 * @returns {Matrix}
 */
function matrixOfGroups(matrix, axes) {
  const rows = axes.queries.length, columns = axes.keys.length;
  const values = new Float32Array(rows * columns), masked = new Uint8Array(rows * columns);
  axes.queries.forEach((query, q) => axes.keys.forEach((key, k) => {
    let sum = 0, visible = false;
    for (const i of query.members) for (const j of key.members) {
      sum += matrix.values[i * matrix.columns + j];
      visible ||= !matrix.masked[i * matrix.columns + j];
    }
    values[q * columns + k] = sum / query.members.length;
    masked[q * columns + k] = +!visible;
  }));
  return { values, masked, rows, columns, step: matrix.step };
}

/**
 * The key with a query's largest weight, or -1 if all keys are masked.
 *
 * @param {Matrix} matrix
 * @param {number} query
 */
export function strongestKey(matrix, query) {
  const start = query * matrix.columns;
  let best = -1;
  for (let k = 0; k < matrix.columns; k++)
    if (!matrix.masked[start + k] && (best < 0 || matrix.values[start + k] > matrix.values[start + best])) best = k;
  return best;
}

/**
 * The entropy of the rows, averaged, in nats.
 *
 * @param {Matrix} matrix
 */
export function entropyOf(matrix) {
  let sum = 0;
  for (const weight of matrix.values) if (weight > 0) sum -= weight * Math.log(weight);
  return sum / matrix.rows;
}

/**
 * Alignment error rate (Och and Ney 2003, all gold links sure), or null without gold links. Each query
 * that has a gold link is linked to its strongest key.
 *
 * @param {Matrix} matrix
 * @param {Link[]} gold
 */
export function alignmentError(matrix, gold) {
  if (!gold.length) return null;
  const queries = [...new Set(gold.map((link) => link.query))];
  const found = queries.map((query) => ({ query, key: strongestKey(matrix, query) })).filter((link) => link.key >= 0);
  const right = found.filter((link) => gold.some((g) => g.query === link.query && g.key === link.key));
  return 1 - (2 * right.length) / (found.length + gold.length);
}

/**
 * The values at the two ends of the colours. Weights: 0 and 1, the same in all heads, or, stretched,
 * the smallest and the largest. Scores: as far below zero as above.
 *
 * @param {Matrix} matrix
 * @param {boolean} stretch
 * @returns {[low: number, high: number]}
 */
export function limitsOf(matrix, stretch) {
  let smallest = Infinity, largest = 0;
  matrix.values.forEach((value, i) => {
    if (matrix.masked[i]) return;
    largest = Math.max(largest, Math.abs(value));
    smallest = Math.min(smallest, value);
  });
  if (matrix.step !== "weights") return [-(largest || 1), largest || 1];
  if (!stretch) return [0, 1];
  return [smallest < largest ? smallest : 0, largest || 1]; // all alike: nothing to stretch
}
