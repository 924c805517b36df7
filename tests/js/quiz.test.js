// @ts-check
// Shapes that are typed: what is one, and what a wrong one is told.

import assert from "node:assert/strict";
import { test } from "node:test";

import { hintFor, parseShape, written } from "../../course_lib/assets/cards/shape.js";

const SAME = ["(2, 8, 5)", "2,8,5", "[2, 8, 5]", "2×8×5", "2 x 8 x 5", "torch.Size([2, 8, 5])", "2 8 5 ", "(2,8,5,)"];

for (const text of SAME)
  test(`a shape may be written as ${text}`, () => assert.deepEqual(parseShape(text), [2, 8, 5]));

test("a shape without axes is a shape, and an empty text is none", () => {
  assert.deepEqual(parseShape("()"), []);
  assert.equal(parseShape(" "), null);
});

for (const text of ["B, T", "__import__('os')", "2**3**99", "-1, 2", "1.5", "<img src=x>", "９９a", "2, (3", "2 + 3"])
  test(`${text} is no shape, and is not run`, () => assert.equal(parseShape(text), null));

test("a shape is written as Python writes it", () => {
  assert.deepEqual([[], [7], [2, 3]].map(written), ["()", "(7,)", "(2, 3)"]);
});

/** @type {[number[], string][]} */
const HINTS = [
  [[2, 5], "you gave 2 axes, it has 3 axes"],
  [[7], "you gave 1 axis, it has 3 axes"],
  [[], "you gave 0 axes, it has 3 axes"],
  [[2, 5, 8], "these are the right sizes, in another order"],
  [[2, 8, 6], "look again at axis 2, counted from 0"],
  [[1, 7, 6], "look again at axes 0, 1 and 2, counted from 0"],
  [[2, 8, 5], ""],
];

for (const [given, hint] of HINTS)
  test(`${written(given)} in place of (2, 8, 5) is told “${hint}”`, () =>
    assert.equal(hintFor(given, [2, 8, 5]), hint));
