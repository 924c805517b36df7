// @ts-check
// Byte-level BPE on a vocabulary of a few merges. test_translator.py compares a whole one with Python's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Subwords } from "../../course_lib/assets/translator/subwords.js";
import { wordsOf } from "../../course_lib/assets/translator/translate.js";

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
