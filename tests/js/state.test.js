// @ts-check
// What may be shown, and what follows from a choice.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MEAN } from "../../course_lib/assets/explorer/constants.js";
import { attentionOf, stateAfter, validState } from "../../course_lib/assets/explorer/state.js";
import { makeAttention, makeModel, makePair, makeState } from "./attention.js";

test("a state that can be shown stays as it is", async () => {
  const attention = await makeAttention({}, { scores: true });
  const state = makeState({
    head: MEAN, heads: [0, 1], view: "grid", step: "scaled", query: 2, key: 1, palette: "grey", stretch: true,
  });
  assert.deepEqual(validState(state, [attention]), state);
});

test("numbers are brought within their limits", async () => {
  const attentions = [await makeAttention()];
  const state = validState(makeState({ layer: 7, head: 7, query: 7, key: 9 }), attentions);
  assert.deepEqual([state.layer, state.head, state.query, state.key], [0, 1, 2, 3]);
  assert.equal(validState(makeState({ head: -5 }), attentions).head, MEAN);
  assert.equal(validState(makeState({ layer: NaN }), attentions).layer, 0);
});

test("unknown names become those shown first", async () => {
  const unknown = /** @type {any} */ ({ kind: "both", view: "cube", palette: "jet", step: "logits" });
  const { kind, view, palette, step } = validState(makeState(unknown), [await makeAttention()]);
  assert.deepEqual([kind, view, palette, step], ["cross", "heatmap", "mako", "weights"]);
});

test("a state of an older version, without what was added since, can be shown", async () => {
  const { kind, heads, layers, key, ...old } = makeState({ query: 1 });
  const state = validState(/** @type {any} */ (old), [await makeAttention()]);
  assert.deepEqual(state, makeState({ query: 1 }));
});

test("steps need scores and single tokens, joining needs subwords", async () => {
  const words = { keyWords: [0, 1, 2, 3] }, weights = [await makeAttention(words)];
  const scores = [await makeAttention({}, { scores: true })];
  assert.equal(validState(makeState({ step: "scores" }), weights).step, "weights");
  assert.equal(validState(makeState({ step: "scores" }), scores).step, "scores");
  assert.equal(validState(makeState({ step: "scores", joined: true }), scores).step, "weights");
  assert.equal(validState(makeState({ joined: true }), weights).joined, false);
});

test("the state that was given is not changed", async () => {
  const state = makeState({ layer: 7 });
  validState(state, [await makeAttention()]);
  assert.equal(state.layer, 7);
});

test("heads to compare are sorted, once each, and one alone is no comparison", async () => {
  const attentions = [await makeAttention()];
  assert.deepEqual(validState(makeState({ heads: [1, 0, 1, 9, 0.5] }), attentions).heads, [0, 1]);
  const one = validState(makeState({ head: 0, heads: [1] }), attentions);
  assert.deepEqual([one.head, one.heads], [1, []]);
});

test("all layers of the grid are the same as no choice", async () => {
  const attentions = await makeModel();
  assert.deepEqual(validState(makeState({ kind: "self", layers: [1, 0] }), attentions).layers, []);
  assert.deepEqual(validState(makeState({ kind: "self", layers: [1] }), attentions).layers, [1]);
});

test("another tab has other tokens: nothing stays locked or compared", async () => {
  const attentions = await makeModel();
  const before = makeState({ kind: "cross", heads: [0, 1], head: 1, query: 2, key: 3, step: "scores", view: "lines" });
  const after = stateAfter(before, { kind: "self" }, attentions);
  assert.deepEqual(after, makeState({ kind: "self", view: "lines" }));
  assert.equal(attentionOf(attentions, after), attentions[0]);
});

test("another head ends a comparison, and another row closes the cell", async () => {
  const attentions = [await makeAttention()], before = makeState({ heads: [0, 1], query: 1, key: 2 });
  assert.deepEqual(stateAfter(before, { head: 1 }, attentions).heads, []);
  assert.equal(stateAfter(before, { head: 1 }, attentions).key, 2);
  assert.equal(stateAfter(before, { query: 0 }, attentions).key, null);
  assert.equal(stateAfter(before, { query: 0, key: 1 }, attentions).key, 1);
  assert.deepEqual(stateAfter(before, { layer: 0 }, attentions), before);
});

test("whose weights are shown is part of the state only where there are two sentences", async () => {
  const pair = [await makePair()], one = [await makeAttention()];
  const own = makeState({ kind: "self" });
  assert.equal(validState(own, pair).sentences, "all");
  assert.equal(validState({ ...own, sentences: "AB" }, pair).sentences, "AB");
  assert.equal(validState({ ...own, sentences: /** @type {any} */ ("AC") }, pair).sentences, "all");
  assert.ok(!("sentences" in validState(makeState({ sentences: "AB" }), one)));
});

test("among other sentences nothing stays locked, and no row outside of them can be", async () => {
  const pair = [await makePair()], before = validState(makeState({ kind: "self", query: 1, key: 2 }), pair);
  const after = stateAfter(before, { sentences: "AB" }, pair);
  assert.deepEqual([after.query, after.key], [null, null]);
  assert.deepEqual([stateAfter(after, { query: 1, key: 3 }, pair).query], [1]);
  assert.equal(stateAfter(after, { query: 2 }, pair).query, null);
  const beyond = stateAfter(after, { query: 1, key: 0 }, pair);
  assert.deepEqual([beyond.query, beyond.key], [1, null]);
  const same = stateAfter({ ...before, sentences: "AB", key: 3 }, { sentences: "AB" }, pair);
  assert.deepEqual([same.query, same.key], [1, 3]);
});
