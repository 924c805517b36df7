// @ts-check
// What may be shown, and what follows from a choice.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { MEAN } from "../../course_lib/assets/explorer/constants.js";
import { unpack } from "../../course_lib/assets/explorer/data/unpack.js";
import { attentionOf, stateAfter, validState } from "../../course_lib/assets/explorer/state.js";
import { makeAttention, makeModel, makePair, makeState, pack } from "./attention.js";

// What is refused in Python becomes what is nearest here. tests/viz/explorer/test_explorer_state.py reads it, too.
const TABLE = JSON.parse(readFileSync(new URL("state_cases.json", import.meta.url), "utf-8"));

/** The attention of the shapes and the tokens that the table names, packed. @param {any[]} shown */
function packTable(shown) {
  const attentions = shown.map(({ scores, ...header }) => ({
    ...header, masked: "", gold: [], dHead: scores ? 4 : null, limits: scores ? { scores: [-8, 8] } : {},
  }));
  const arrays = shown.flatMap(({ shape, scores }) => {
    const numbers = Array(shape.reduce((/** @type {number} */ a, /** @type {number} */ b) => a * b)).fill(0.5);
    return scores ? [numbers, numbers] : [numbers];
  });
  return pack({ title: "Table", pad: "<pad>", attentions }, arrays);
}

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
  assert.deepEqual([kind, view, palette, step], ["cross", "heatmap", "slate", "weights"]);
});

test("a state of an older version, without what was added since, can be shown", async () => {
  const { kind, heads, layers, key, ...old } = makeState({ query: 1 });
  const state = validState(/** @type {any} */ (old), [await makeAttention()]);
  assert.deepEqual(state, makeState({ query: 1 }));
});

test("the state that was given is not changed", async () => {
  const state = makeState({ layer: 7 });
  validState(state, [await makeAttention()]);
  assert.equal(state.layer, 7);
});

for (const { what, shown, before, changes, after } of TABLE.cases) {
  test(`a choice leads to the state of the common table: ${what}`, async () => {
    const attentions = await unpack(packTable(TABLE.shown[shown]));
    const start = validState(makeState({ kind: attentions[0].kind }), attentions);
    const state = { ...start, ...before };
    assert.deepEqual(validState(state, attentions), state);
    assert.deepEqual(stateAfter(state, changes, attentions), { ...start, ...after });
  });
}

test("the tab of a state is the one of its kind, or the first", async () => {
  const attentions = await makeModel();
  assert.equal(attentionOf(attentions, makeState({ kind: "cross" })), attentions[2]);
  assert.equal(attentionOf([attentions[1], attentions[0]], makeState({ kind: "cross" })), attentions[1]);
});

test("whose weights are shown is part of the state only where there are two sentences", async () => {
  const pair = [await makePair()], one = [await makeAttention()];
  const own = makeState({ kind: "self" });
  assert.equal(validState(own, pair).sentences, "all");
  assert.equal(validState({ ...own, sentences: "AB" }, pair).sentences, "AB");
  assert.equal(validState({ ...own, sentences: /** @type {any} */ ("AC") }, pair).sentences, "all");
  assert.ok(!("sentences" in validState(makeState({ sentences: "AB" }), one)));
});
