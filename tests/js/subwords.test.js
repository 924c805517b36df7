// @ts-check
// Byte-level BPE on a vocabulary of a few merges. test_translator.py compares a whole one with Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Subwords } from "../../course_lib/assets/translator/subwords.js";
import { wordsOf } from "../../course_lib/assets/translator/translate.js";
import { writtenWords } from "../../course_lib/assets/translator/translation_view.js";
import { rounded } from "./attention.js";

const subwords = new Subwords([], ["a b", "ab ab", "b c", "Ġ ab", "Ã ¤"]);

test("the pair that was learnt first is merged first, wherever it stands", () => {
  assert.deepEqual(subwords.split("abc"), ["Ġab", "c"]);
  assert.deepEqual(subwords.split("bcab"), ["Ġ", "bc", "ab"]);
  assert.deepEqual(subwords.split("xababab"), ["Ġ", "x", "abab", "ab"]);
  assert.deepEqual(subwords.split(""), []);
});

test("a letter and its mark are one, and half a pair of surrogates is U+FFFD", () => {
  assert.deepEqual(subwords.split("a\u0308"), ["Ġ", "Ã¤"]);
  assert.equal(subwords.join(subwords.split("\ud83d x")), "\ufffd x");
});

test("joined tokens are the text, without the space that its first word was given", () => {
  for (const text of ["ab abc", " ab", "\n\tab  ", "Ärger 😀 <eos> \ufeff", "🇩🇪 3,5"])
    assert.equal(subwords.join(subwords.split(text)), text.normalize("NFC"));
});

test("a label shows spaces, letters, and bytes that are no letter", () =>
  assert.deepEqual(["ĠÃ¤b", "Ã", "Ġð", "<eos>", "ĠĠ"].map((token) => subwords.label(token)),
    ["▁äb", "\\xc3", "▁\\xf0", "<eos>", "▁▁"]));

test("tokens belong to one word up to a space or a mark, bytes of a letter included", () => {
  const texts = (/** @type {string[]} */ tokens) => wordsOf(subwords, tokens).map(({ text }) => text);
  assert.deepEqual(texts(["Ġab", "ab", ".", "Ġc", "Ã", "¤", "Ġd", "'", "s", "!", "<eos>"]),
    ["abab", ".", " cä", " d's", "!", ""]);
  assert.deepEqual(wordsOf(subwords, ["Ġab", "ab", "."]).map(({ start, end }) => [start, end]), [[0, 2], [2, 3]]);
});

test("a word has the probability of all its tokens, and a mark that is not in the text is no word", () => {
  const of = { target: ["Ġab", "c", "Ġab", ".", "<eos>"], probabilities: Float32Array.of(0.5, 0.5, 0.75, 0.5, 1), text: "abc ab" };
  const words = writtenWords(subwords, /** @type {any} */ (of));
  assert.deepEqual(words.map(({ text }) => text), ["abc", " ab"]);
  assert.deepEqual(rounded(Float32Array.from(words, ({ probability }) => probability)), [0.25, 0.75]);
});
