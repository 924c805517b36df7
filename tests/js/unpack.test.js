// @ts-check
// What Python packed is unpacked.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeAttention, makeModel, makeProducts } from "./attention.js";

test("unpacking gives what was packed", async () => {
  const attention = await makeAttention({ gold: [[1, 0]] });
  const { nLayers, nHeads, nQueries, nKeys } = attention;
  assert.deepEqual([nLayers, nHeads, nQueries, nKeys], [1, 2, 3, 4]);
  assert.deepEqual([attention.title, attention.pad], ["By hand", "<pad>"]);
  assert.equal(attention.queryTokens[1], "▁dog");
  assert.deepEqual(attention.gold, [[1, 0]]);
  assert.deepEqual(attention.weights.levels.slice(0, 4), Uint16Array.of(32768, 16384, 16384, 0));
  assert.deepEqual([...attention.masked], [0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1]);
  assert.deepEqual([attention.scores, attention.queries, attention.keys], [null, null, null]);
  assert.ok(attention.anyMasked && attention.hasSubwords && !attention.hasScores);
});

test("without a mask nothing is masked, and whole words have no subwords", async () => {
  const attention = await makeAttention({ masked: "", keyWords: [0, 1, 2, 3] });
  assert.equal(attention.anyMasked, false);
  assert.equal(attention.hasSubwords, false);
});

test("scores come after the weights, between their own limits", async () => {
  const { scores, hasScores } = await makeAttention({}, { scores: true });
  assert.ok(hasScores);
  assert.deepEqual([scores?.low, scores?.high], [-8, 8]);
  assert.deepEqual(scores?.levels.slice(0, 4), Uint16Array.of(32768, 16384, 16384, 0));
});

test("queries and keys may be stored in place of scores", async () => {
  const { queries, keys, scores, hasScores } = await makeProducts();
  assert.ok(hasScores && scores === null);
  assert.equal(queries?.levels.length, 6);
  assert.equal(keys?.levels.length, 8);
  assert.equal(keys?.levels[4], 65535); // 4
});

test("each kind of attention has its own tokens, mask and numbers", async () => {
  const [self, causal, cross] = await makeModel();
  assert.deepEqual([self.kind, causal.kind, cross.kind], ["self", "causal", "cross"]);
  assert.deepEqual([self.title, cross.title], ["Model", "Model"]);
  assert.deepEqual([self.nLayers, cross.nLayers, cross.nHeads], [2, 1, 2]);
  assert.deepEqual([...causal.masked], [0, 1, 0, 0]);
  assert.equal(causal.weights.levels[7], 49151); // 0.75
  assert.equal(cross.scores?.levels[0], 32768);
});
