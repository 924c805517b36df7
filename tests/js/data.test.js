// @ts-check
// Matrices, and the numbers computed from them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { MEAN, STEPS } from "../../course_lib/assets/explorer/constants.js";
import {
  alignmentError, axesOf, entropyOf, groupIndex, limitsOf, matrixOf, range, strongestKey,
} from "../../course_lib/assets/explorer/data/data.js";
import { decimals } from "../../course_lib/assets/explorer/data/numbers.js";
import { makeAttention, makePair, makeProducts, rounded } from "./attention.js";

const CASES = JSON.parse(readFileSync(new URL("alignment_cases.json", import.meta.url), "utf-8"));

/**
 * @param {number[][]} rows
 * @param {number[]} masked
 * @param {"scores" | "scaled" | "masked" | "weights"} step
 */
const matrixOfRows = (rows, masked = [], step = "weights") => ({
  values: Float32Array.from(rows.flat()), masked: Uint8Array.from(rows.flat(), (_, i) => masked[i] ?? 0),
  rows: rows.length, columns: rows[0].length, step,
});

test("range counts from 0", () => assert.deepEqual(range(3), [0, 1, 2]));

test("the axes are tokens, or words with their subwords joined", async () => {
  const attention = await makeAttention();
  const tokens = axesOf(attention, false), words = axesOf(attention, true);
  assert.deepEqual(tokens.keys.map((group) => group.text), ["▁Don", "au", "▁fluss", "<pad>"]);
  assert.deepEqual(words.keys.map((group) => group.text), ["Donau", "fluss", "<pad>"]);
  assert.deepEqual(words.keys.map((group) => group.members), [[0, 1], [2], [3]]);
  assert.deepEqual(words.keys.map((group) => group.pad), [false, false, true]);
  assert.equal(groupIndex(words.keys, 1), 0);
  assert.equal(groupIndex(words.keys, 2), 1);
});

test("joining removes the marks of other tokenizers, too", async () => {
  /** @param {string[]} keys */
  const join = async (keys) => axesOf(await makeAttention({ keyTokens: keys, keyWords: [0, 0, 0, 1] }), true).keys[0].text;
  assert.equal(await join(["un", "##want", "##ed", "x"]), "unwanted");
  assert.equal(await join(["un@@", "want@@", "ed", "x"]), "unwanted");
  assert.equal(await join(["Ġun", "want", "ed", "Ġx"]), "unwanted");
});

test("a comma or a full stop on its own is drawn in quotation marks", async () => {
  const tokens = { queryTokens: [",", "'s", "<pad>"], keyTokens: ["▁.", "..", "§1", "_"] };
  const { queries, keys } = axesOf(await makeAttention(tokens), false);
  assert.deepEqual(queries.map((group) => group.label), ["“,”", "'s", "<pad>"]);
  assert.deepEqual(keys.map((group) => group.label), ["“▁.”", "“..”", "§1", "_"]);
  assert.equal(queries[0].text, ",");
});

test("a token of nothing, of spaces or of new lines has a label that can be seen", async () => {
  const tokens = { queryTokens: ["", "  ", "\n"], keyTokens: ["\t", "end\n", "a b", "_"] };
  const { queries, keys } = axesOf(await makeAttention(tokens), false);
  assert.deepEqual(queries.map((group) => group.label), ["“”", "“  ”", "“↵”"]);
  assert.deepEqual(keys.map((group) => group.label), ["“⇥”", "“end↵”", "a b", "_"]);
});

test("a number has a minus sign, and none before a zero", () => {
  assert.deepEqual([-0, -0.001, -1.5, 2].map((value) => decimals(value, 2)), ["0.00", "0.00", "−1.50", "2.00"]);
});

test("gold links between the same two words count once", async () => {
  const attention = await makeAttention({ gold: [[0, 1], [1, 1], [2, 0]] });
  assert.deepEqual(axesOf(attention, false).gold.length, 3);
  assert.deepEqual(axesOf(attention, true).gold, [{ query: 1, key: 0 }, { query: 0, key: 1 }]);
});

test("a matrix is one head, or the mean of all", async () => {
  const attention = await makeAttention(), axes = axesOf(attention, false);
  const first = matrixOf(attention, axes, "weights", 0, 0);
  assert.deepEqual([first.rows, first.columns], [3, 4]);
  assert.deepEqual(rounded(first.values), [0.5, 0.25, 0.25, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  assert.deepEqual([...first.masked], [0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1]);
  const mean = matrixOf(attention, axes, "weights", 0, MEAN);
  assert.deepEqual(rounded(mean.values.slice(0, 8)), [0.375, 0.25, 0.375, 0, 0.5, 0, 0.5, 0]);
});

test("weights are summed over a key's subwords and averaged over a query's", async () => {
  const attention = await makeAttention({ queryWords: [0, 0, 1] }), axes = axesOf(attention, true);
  const { values, masked, rows, columns } = matrixOf(attention, axes, "weights", 0, 0);
  assert.deepEqual([rows, columns], [2, 3]);
  assert.deepEqual(rounded(values), [0.375, 0.625, 0, 0, 0, 0]);
  assert.deepEqual([...masked], [0, 0, 1, 1, 1, 1]);
});

test("the steps scale the scores, and then mask them", async () => {
  const attention = await makeAttention({}, { scores: true }), axes = axesOf(attention, false);
  /** @param {"scores" | "scaled" | "masked"} step */
  const at = (step) => matrixOf(attention, axes, step, 0, 0);
  assert.deepEqual(rounded(at("scores").values.slice(4, 8)), [-8, -8, 8, -8]);
  assert.deepEqual(rounded(at("scaled").values.slice(4, 8)), [-2, -2, 2, -2]);
  assert.deepEqual(at("masked").values, at("scaled").values);
  assert.deepEqual([...at("scaled").masked].includes(1), false);
  assert.deepEqual(at("masked").masked, attention.masked);
});

test("scores that are not stored are the products of queries and keys", async () => {
  const attention = await makeProducts(), axes = axesOf(attention, false);
  const { values } = matrixOf(attention, axes, "scores", 0, 0);
  assert.deepEqual(rounded(values.slice(0, 8)).map((value) => Math.round(value * 100) / 100),
    [4, -2, -4, 0, -2, 0, -4, 0]);
  const mean = matrixOf(attention, axes, "scaled", 0, MEAN).values[0];
  assert.ok(Math.abs(mean - 4 / Math.SQRT2) < 1e-3);
});

test("a step before the softmax is refused without scores", async () => {
  const attention = await makeAttention();
  assert.throws(() => matrixOf(attention, axesOf(attention, false), "scaled", 0, 0),
    /expected scores for the step "scaled", got weights only/);
});

test("the strongest key is never a masked one, and the first of equal ones", () => {
  const matrix = matrixOfRows([[0.2, 0.8, 0], [0.4, 0.4, 0.2], [0, 0, 0]], [0, 1, 0, 0, 0, 0, 1, 1, 1]);
  assert.equal(strongestKey(matrix, 0), 0);
  assert.equal(strongestKey(matrix, 1), 0);
  assert.equal(strongestKey(matrix, 2), -1);
});

test("entropy is 0 for one key, and ln n for n keys with equal weights", () => {
  assert.equal(entropyOf(matrixOfRows([[1, 0, 0], [0, 0, 1]])), 0);
  assert.ok(Math.abs(entropyOf(matrixOfRows([[0.25, 0.25, 0.25, 0.25]])) - Math.log(4)) < 1e-6);
  assert.ok(Math.abs(entropyOf(matrixOfRows([[0.5, 0.5], [1, 0]])) - Math.log(2) / 2) < 1e-6);
});

for (const { what, weights, gold, rate } of CASES)
  test(`alignment error rate: ${what}`, () => {
    const links = gold.map((/** @type {[number, number]} */ [key, query]) => ({ query, key }));
    assert.ok(Math.abs((alignmentError(matrixOfRows(weights), links) ?? NaN) - rate) < 1e-9);
  });

test("there is no alignment error rate without gold links", () =>
  assert.equal(alignmentError(matrixOfRows([[1, 0]]), []), null));

test("a fully masked query finds no link", () =>
  assert.equal(alignmentError(matrixOfRows([[0, 0]], [1, 1]), [{ query: 0, key: 0 }]), 1));

test("words get the colour of their language, where it is known, and padding that of asides", async () => {
  /** @param {Record<string, any>} changes */
  const inks = async (changes) => {
    const { queries, keys } = axesOf(await makeAttention(changes), false);
    return [queries, keys].map((groups) => groups.map(({ ink }) => ink));
  };
  assert.deepEqual(await inks({ languages: ["english", "german"] }),
    [["english", "english", "soft"], ["german", "german", "german", "soft"]]);
  assert.deepEqual(await inks({}), [["ink", "ink", "soft"], ["ink", "ink", "ink", "soft"]]);
});

test("weights share the limits 0 and 1, unless they are stretched", () => {
  const matrix = matrixOfRows([[0.1, 0.4, 0.5]], [0, 0, 1]);
  assert.deepEqual(limitsOf(matrix, false), [0, 1]);
  assert.deepEqual(rounded(limitsOf(matrix, true)), [0.1, 0.4]);
  assert.deepEqual(limitsOf(matrixOfRows([[0, 0]]), true), [0, 1]);
  assert.deepEqual(rounded(limitsOf(matrixOfRows([[0.25, 0.3, 0.2, 0]], [0, 0, 0, 1]), true)), [0.2, 0.3]);
  assert.deepEqual(limitsOf(matrixOfRows([[0.5, 0.5]]), true), [0, 0.5]);
});

test("scores have limits on both sides of zero, without the masked ones", () => {
  assert.deepEqual(limitsOf(matrixOfRows([[-3, 2, 9]], [0, 0, 1], "masked"), false), [-3, 3]);
  assert.deepEqual(limitsOf(matrixOfRows([[0, 0]], [], "scores"), false), [-1, 1]);
});

test("the steps are in the order of the computation", () =>
  assert.deepEqual(Object.keys(STEPS), ["scores", "scaled", "masked", "weights"]));

test("of two sentences, the weights between any two are parts of the whole matrix", async () => {
  const attention = await makePair();
  /** @param {import("../../course_lib/assets/explorer/constants.js").Sentences} sentences */
  const shown = (sentences) => {
    const axes = axesOf(attention, false, sentences), matrix = matrixOf(attention, axes, "weights", 0, 0);
    return [axes.queries.map(({ text }) => text).join(""), axes.keys.map(({ text }) => text).join(""),
      matrix.rows, matrix.columns, rounded(matrix.values)];
  };
  assert.deepEqual(shown("AB"), ["ab", "##cd", 2, 2, [0.125, 0.125, 0.25, 0.75]]);
  assert.deepEqual(shown("BA"), ["##cd", "ab", 2, 2, [1, 0, 0.25, 0.25]]);
  assert.deepEqual(shown("AA")[4], [0.5, 0.25, 0, 0]);
  assert.deepEqual(shown("BB")[4], [0, 0, 0.25, 0.25]);
  assert.equal(shown("all")[2], 4);
});

test("gold links within the shown sentences stay, at their new rows and columns", async () => {
  const attention = await makePair();
  assert.deepEqual(axesOf(attention, false, "AB").gold, [{ query: 0, key: 0 }, { query: 1, key: 1 }]);
  assert.deepEqual(axesOf(attention, false, "AA").gold, [{ query: 0, key: 0 }]);
  assert.deepEqual(axesOf(attention, false, "BA").gold, []);
});
