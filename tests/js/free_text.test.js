// @ts-check
// Free text is split by the cases that Python's tests use, too. test_translator.py compares its translations.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { splitSentences } from "../../course_lib/assets/translator/sentences.js";

/** @type {{ sentences: [text: string, sentences: string[]][] }} */
const { sentences } = JSON.parse(readFileSync(new URL("../decoding/free_text_cases.json", import.meta.url), "utf-8"));

for (const [text, expected] of sentences)
  test(`${JSON.stringify(text)} is split where a sentence ends`, () => assert.deepEqual(splitSentences(text), expected));
