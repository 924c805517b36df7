// @ts-check
// The parts of the translator that need no trained model. test_translator.py compares the whole with PyTorch.

import assert from "node:assert/strict";
import { test } from "node:test";

import { percent } from "../../course_lib/assets/translator/next_words.js";
import {
  largestIndices, logSoftmax, positionalEncoding, softmax,
} from "../../course_lib/assets/translator/transformer.js";
import { fromHalf } from "../../course_lib/assets/translator/weights.js";
import { joinWords, partsAround, replaceWord, similarWords, splitWords } from "../../course_lib/assets/translator/words.js";
import { rounded } from "./attention.js";

test("softmax gives shares of 1, even of huge scores, and nothing to minus infinity", () => {
  assert.deepEqual(rounded(softmax(Float32Array.of(0, Math.log(3)))), [0.25, 0.75]);
  assert.deepEqual(rounded(softmax(Float32Array.of(1000, 1000, -Infinity))), [0.5, 0.5, 0]);
});

test("log-softmax is the logarithm of softmax", () => {
  const scores = Float32Array.of(1, -2, 0.5);
  assert.deepEqual(rounded(logSoftmax(scores).map(Math.exp)), rounded(softmax(scores)));
});

test("of equal values the first comes first", () =>
  assert.deepEqual(largestIndices(Float32Array.of(1, 3, 2, 3), 3), [1, 3, 2]));

test("position 0 is sines of 0 and cosines of 0, side by side", () => {
  assert.deepEqual([...positionalEncoding(0, 4)], [0, 1, 0, 1]);
  assert.deepEqual(rounded(positionalEncoding(3, 4)),
    rounded(Float32Array.of(Math.sin(3), Math.cos(3), Math.sin(0.03), Math.cos(0.03))));
});

test("the bits of a 16-bit number give its value", () => {
  const values = [[0x0000, 0], [0x8001, -(2 ** -24)], [0x0400, 2 ** -14], [0x3c00, 1], [0xc100, -2.5], [0x7bff, 65504]];
  for (const [bits, value] of values) assert.equal(fromHalf(bits), value);
  assert.deepEqual([fromHalf(0x7c00), fromHalf(0xfc00)], [Infinity, -Infinity]);
  assert.ok(Number.isNaN(fromHalf(0x7e00)));
});

test("a probability never reads as certain or impossible", () => {
  assert.deepEqual([0, 0.0004, 0.0005, 0.5, 0.9994, 0.9996, 1].map(percent),
    ["< 0.1 %", "< 0.1 %", "0.1 %", "50.0 %", "99.9 %", "> 99.9 %", "> 99.9 %"]);
});

test("words and marks are split, and joined again", () => {
  assert.deepEqual(splitWords("Der Hund, schläft’s?"), ["der", "hund", ",", "schläft’s", "?"]);
  assert.equal(joinWords(["der", "hund", ",", "der", "schläft", "."]), "der hund, der schläft.");
  assert.deepEqual(splitWords(" \n"), []);
});

test("a word of thousands of characters is compared with none", () => {
  assert.deepEqual(similarWords("a".repeat(100), ["a".repeat(99)], 2), ["a".repeat(99)]);
  assert.deepEqual(similarWords("a".repeat(101), ["a".repeat(99)], 2), []);
});

test("a word is replaced where it is a whole word, whatever its capitals", () =>
  assert.equal(replaceWord("Hundd, hundd Hunddd!", "hundd", "hund"), "hund, hund Hunddd!"));

test("similar words come most similar first, and unlike ones not at all", () => {
  assert.deepEqual(similarWords("hundd", ["katze", "hunde", "hund"], 2), ["hund", "hunde"]);
  assert.deepEqual(similarWords("xyz", ["katze", "hund"], 2), []);
});

test("a text is cut around some of its words, whatever their letters' case, and around nothing else", () => {
  const parts = (/** @type {string} */ text, /** @type {string[]} */ words) =>
    partsAround(text, words).map(({ text: part, found }) => (found ? `[${part}]` : part)).join("");
  assert.equal(parts("Die Katzze schläft.", ["katzze"]), "Die [Katzze] schläft.");
  assert.equal(parts("Hund, Hunde: hund", ["hund", ":"]), "[Hund], Hunde[:] [hund]");
  assert.equal(parts("Die Katze", []), "Die Katze");
  assert.deepEqual(partsAround("", ["x"]), []);
});
