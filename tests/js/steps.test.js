// @ts-check
// From a query and a key to one weight.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openedCell, openedText } from "../../course_lib/assets/explorer/controls/cell.js";
import { MEAN } from "../../course_lib/assets/explorer/constants.js";
import { sceneMaker } from "../../course_lib/assets/explorer/scene.js";
import { stepsOf } from "../../course_lib/assets/explorer/data/steps.js";
import { makeAttention, makeProducts, makeState, rounded } from "./attention.js";

/** @param {number} value @param {number} expected */
const near = (value, expected) => assert.ok(Math.abs(value - expected) < 2e-3, `${value}, expected ${expected}`);

test("products, their sum, the division and the softmax lead to the weight", async () => {
  const attention = await makeProducts();
  const { weight, masked, numbers, scores } = stepsOf(attention, { layer: 0, head: 0 }, 0, 0);
  assert.equal(masked, false);
  assert.deepEqual(rounded(numbers?.products ?? []).map(Math.round), [2, 2]);
  near(scores?.score ?? NaN, 4);
  near(scores?.scaled ?? NaN, 4 / Math.SQRT2);
  near(scores?.largest ?? NaN, 4 / Math.SQRT2);
  near(scores?.sum ?? NaN, 1 + Math.exp(-6 / Math.SQRT2) + Math.exp(-8 / Math.SQRT2));
  near(weight, Math.exp(0) / (scores?.sum ?? NaN));
});

test("a masked key has a score, but no weight, and no part in the sum", async () => {
  const attention = await makeProducts();
  const { weight, masked, scores } = stepsOf(attention, { layer: 0, head: 0 }, 1, 3);
  assert.deepEqual([weight, masked], [0, true]);
  near(scores?.largest ?? NaN, 0); // of -2, 0, -4
});

test("what is not stored is null", async () => {
  const weights = await makeAttention(), stored = await makeAttention({}, { scores: true });
  const where = { layer: 0, head: 0 };
  assert.equal(stepsOf(weights, where, 0, 0).scores, null);
  const cell = stepsOf(stored, where, 1, 2);
  assert.equal(cell.numbers, null);
  near(cell.scores?.score ?? NaN, 8);
});

test("a cell is open where its row is locked, in the heatmap of one head and of single tokens", async () => {
  const sceneFor = sceneMaker(await makeAttention({}, { scores: true }));
  /** @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} changes */
  const opened = (changes) => openedCell(sceneFor(makeState({ query: 1, key: 2, ...changes }), "light"));
  assert.equal(opened({ key: null }), null);
  assert.equal(opened({ view: "grid" }), null);
  assert.match(String(opened({ joined: true })), /^Subwords are joined/);
  assert.match(String(opened({ head: MEAN })), /^This is a mean/);
  assert.equal(typeof opened({}), "object");
});

test("an opened cell is read out", async () => {
  const products = sceneMaker(await makeProducts()), weights = sceneMaker(await makeAttention());
  const state = makeState({ query: 0, key: 0 });
  assert.match(openedText(products(state, "light")),
    /^The sum of 2 products is 4\.00\d, divided by 1\.414 it is 2\.82\d; after the softmax 0\.98\d\d\.$/);
  assert.match(openedText(products({ ...state, key: 3 }, "light")), /masked, so the weight is 0\.$/);
  assert.equal(openedText(weights(state, "light")), "The weight is 0.5000. Its scores are not stored.");
  assert.equal(openedText(weights({ ...state, key: 3 }, "light")),
    "The weight is 0: the cell is masked. Its scores are not stored.");
  assert.equal(openedText(weights(makeState(), "light")), "");
});
