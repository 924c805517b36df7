// @ts-check
// What the model diagram says, and the paths of its arrows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { pathsOf } from "../../course_lib/assets/model_diagram/lines.js";
import { rowText } from "../../course_lib/assets/model_diagram/one_stack.js";
import { attentionText, headline, writtenText } from "../../course_lib/assets/model_diagram/words.js";

/**
 * @param {string} word
 * @param {number} probability
 * @param {number[]} attention
 * @returns {import("../../course_lib/assets/model_diagram/diagram.js").Step}
 */
const step = (word, probability, attention = [1, 0]) => ({ top: [[word, probability]], attention });

const DIAGRAM = { target: ["<bos>", "the", "dog"], steps: [step("the", 0.9), step("dog", 0.85), step("<eos>", 1)] };

test("the headline says which step it is and what comes next", () => {
  assert.equal(headline(DIAGRAM, 0), "Step 1 of 3. Next word: the (0.90).");
  assert.equal(headline(DIAGRAM, 2), "Step 3 of 3. Next: <eos>, the end (1.00).");
});

test("what is written before a step ends before its word", () => {
  assert.equal(writtenText(DIAGRAM, 0), "Nothing is written yet.");
  assert.equal(writtenText(DIAGRAM, 2), "Written so far: the dog.");
});

test("the words with most attention are named, as many as make up four fifths", () => {
  const words = ["der", "hund", "schläft", "."];
  assert.match(attentionText(words, step("", 1, [0.05, 0.9, 0.05, 0])), /most to: hund 0\.90\.$/);
  assert.match(attentionText(words, step("", 1, [0.3, 0.1, 0.55, 0.05])), /: schläft 0\.55, der 0\.30\.$/);
  assert.equal(attentionText(words, step("", 1, [0.25, 0.25, 0.25, 0.25])).split(": ")[1].split(",").length, 3);
});

test("one stack attends to the words of its row, with self-attention", () => {
  const text = rowText(["der", "hund", "<bos>", "the"], step("dog", 1, [0, 0.6, 0.1, 0.3]));
  assert.equal(text, "To predict it, the last layer's self-attention attends most to: hund 0.60, the 0.30.");
});

test("an arrow's head ends where its line ends and points along its last part", () => {
  const { line, head } = pathsOf([[0, 0], [0, 10], [30, 10]]);
  assert.equal(line, "M0 0L0 10L30 10");
  assert.equal(head, "M30 10L23 13.5L23 6.5Z");
});
