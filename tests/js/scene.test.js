// @ts-check
// States, scenes, their descriptions, and what is saved.

import assert from "node:assert/strict";
import { test } from "node:test";

import { MEAN, PALETTES, VIEW_NAMES } from "../../course_lib/assets/explorer/constants.js";
import { focusText, topKeys, topQueries } from "../../course_lib/assets/explorer/describe.js";
import { escapeHtml, fileName, standalonePage } from "../../course_lib/assets/explorer/save.js";
import { sceneMaker, stageLabel, titleOf, validState } from "../../course_lib/assets/explorer/scene.js";
import { VIEWS } from "../../course_lib/assets/explorer/views.js";
import { makeAttention, makeState, rounded } from "./attention.js";

test("a state that can be shown stays as it is", async () => {
  const attention = await makeAttention({}, { scores: true });
  const state = makeState({ head: MEAN, view: "grid", step: "scaled", query: 2, palette: "grey", stretch: true });
  assert.deepEqual(validState(state, attention), state);
});

test("numbers are brought within their limits", async () => {
  const attention = await makeAttention();
  const state = validState(makeState({ layer: 7, head: 7, query: 7 }), attention);
  assert.deepEqual([state.layer, state.head, state.query], [0, 1, 2]);
  assert.equal(validState(makeState({ head: -5 }), attention).head, MEAN);
  assert.equal(validState(makeState({ layer: NaN }), attention).layer, 0);
});

test("unknown names become those shown first", async () => {
  const attention = await makeAttention();
  const unknown = /** @type {any} */ ({ view: "cube", palette: "jet", step: "logits" });
  const { view, palette, step } = validState(makeState(unknown), attention);
  assert.deepEqual([view, palette, step], ["heatmap", "mako", "weights"]);
});

test("steps need scores and single tokens, joining needs subwords", async () => {
  const words = { keyWords: [0, 1, 2, 3] }, weights = await makeAttention(words);
  const scores = await makeAttention({}, { scores: true });
  assert.equal(validState(makeState({ step: "scores" }), weights).step, "weights");
  assert.equal(validState(makeState({ step: "scores" }), scores).step, "scores");
  assert.equal(validState(makeState({ step: "scores", joined: true }), scores).step, "weights");
  assert.equal(validState(makeState({ joined: true }), weights).joined, false);
});

test("the state that was given is not changed", async () => {
  const state = makeState({ layer: 7 });
  validState(state, await makeAttention());
  assert.equal(state.layer, 7);
});

test("a scene holds the chosen head, and summaries of all", async () => {
  const sceneFor = sceneMaker(await makeAttention({ gold: [[0, 0], [0, 1]] }));
  const scene = sceneFor(makeState({ query: 1 }), "light");
  assert.deepEqual(rounded(scene.matrix.values.slice(0, 4)), [0.5, 0.25, 0.25, 0]);
  assert.deepEqual(scene.limits, [0, 1]);
  assert.equal(scene.locked, 1);
  assert.equal(scene.summary(0, 0).error, 0.5);
  assert.equal(scene.summary(0, 1).error, 0.5);
  assert.equal(sceneFor(makeState({ gold: false }), "light").summary(0, 0).error, null);
  assert.equal(scene.matrixAt(0, 0), scene.matrix); // cached
});

test("joined subwords lock the row of their word", async () => {
  const sceneFor = sceneMaker(await makeAttention({ queryWords: [0, 0, 1] }));
  assert.equal(sceneFor(makeState({ query: 1, joined: true }), "light").locked, 0);
});

test("there is a view for each name, and a name for each view", () =>
  assert.deepEqual(Object.keys(VIEWS), Object.keys(VIEW_NAMES)));

test("the largest weights come first, those of masked keys never", async () => {
  const { matrix } = sceneMaker(await makeAttention())(makeState(), "light");
  assert.deepEqual(topKeys(matrix, 0).map(({ key }) => key), [0, 1, 2]);
  assert.deepEqual(topKeys(matrix, 1, 1).map(({ key }) => key), [2]);
  assert.deepEqual(topKeys(matrix, 2), []);
  assert.deepEqual(topQueries(matrix, 2).map(({ query }) => query), [1, 0]);
});

test("a focus is described: a cell, a row, a column, a head", async () => {
  const scene = sceneMaker(await makeAttention())(makeState(), "light");
  assert.equal(focusText(scene, { query: 1, key: 2 }),
    "“▁dog” reads “▁fluss”: 1.0000. “▁dog” reads most: “▁fluss” 1.0000, “▁Don” 0.0000, “au” 0.0000.");
  assert.match(focusText(scene, { query: 1, key: 3 }), /^“▁dog” reads “<pad>”: masked \(padding\)\./);
  assert.equal(focusText(scene, { query: 2 }), "“<pad>” reads most: nothing: all keys are masked.");
  assert.equal(focusText(scene, { key: 1 }), "“au” is read most by: “▁the” 0.2500, “▁dog” 0.0000.");
  assert.equal(focusText(scene, { key: 3 }), "“<pad>” is read most by: no query.");
  assert.equal(focusText(scene, { layer: 0, head: MEAN }),
    "layer 0, mean of heads: entropy 0.59 of at most 1.39 nats");
});

test("the title names what is shown, the label says how to use it", async () => {
  const attention = await makeAttention();
  /** @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} changes */
  const scene = (changes) => sceneMaker(attention)(makeState(changes), "light");
  assert.equal(titleOf(scene({})), "By hand, layer 0, head 0");
  assert.equal(titleOf(scene({ view: "heads" })), "By hand, layer 0");
  assert.equal(titleOf(scene({ view: "grid" })), "By hand");
  assert.match(stageLabel(scene({})), /cross-attention: heatmap of 3 queries by 4 keys\. .* Enter locks a row/);
  assert.match(stageLabel(scene({ view: "grid" })), /all layers of .* Enter opens a head/);
});

test("a file name has no special characters", () => {
  assert.equal(fileName("Layer 0, <head> ü!"), "layer-0-head-ü");
  assert.equal(fileName("…"), "attention");
});

test("no title and no state ends an element of a saved page", () => {
  const title = "</title><script>alert(1)</script>", state = makeState(/** @type {any} */ ({ view: title }));
  assert.equal(escapeHtml('<a href="b">&'), "&lt;a href=&quot;b&quot;&gt;&amp;");
  const page = standalonePage({ module: "</script>", style: "</style>", data: Uint8Array.of(1, 2), state, title });
  assert.equal(page.split("</script>").length, 3); // those of the page itself
  assert.equal(page.split("</title>").length, 2);
  const source = JSON.parse(page.split('id="source">')[1].split("</script>")[0]);
  assert.deepEqual(source, { module: "</script>", style: "</style>", state });
  assert.ok(page.includes('atob("AQI=")'));
});

test("every palette that Python offers has thirteen colours", () => {
  for (const colours of Object.values(PALETTES)) assert.match(colours, /^([0-9a-f]{6} ){12}[0-9a-f]{6}$/);
});
