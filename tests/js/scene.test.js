// @ts-check
// Scenes, their descriptions, and what is saved.

import assert from "node:assert/strict";
import { test } from "node:test";

import { THEMES } from "../../course_lib/assets/explorer/drawing/colour.js";
import { MEAN, PALETTES, VIEW_NAMES } from "../../course_lib/assets/explorer/constants.js";
import { focusText, topKeys, topQueries, viewName } from "../../course_lib/assets/explorer/describe.js";
import { sentenceTexts } from "../../course_lib/assets/explorer/controls/legend.js";
import { escapeHtml, fileName, standalonePage } from "../../course_lib/assets/explorer/save.js";
import { chosenText, sceneMaker, stageLabel, titleOf } from "../../course_lib/assets/explorer/scene.js";
import { VIEWS } from "../../course_lib/assets/explorer/drawing/views.js";
import { makeAttention, makeModel, makePair, makeState, rounded } from "./attention.js";

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

test("the lines show the chosen head, or those that are compared, each in a colour", async () => {
  const sceneFor = sceneMaker(await makeAttention());
  const [one] = sceneFor(makeState({ view: "lines", head: 1 }), "light").strands;
  assert.deepEqual([one.head, one.colour], [1, THEMES.light.line]);
  const two = sceneFor(makeState({ view: "lines", heads: [0, 1] }), "dark").strands;
  assert.deepEqual(two.map(({ head, colour }) => [head, colour]), [0, 1].map((head) => [head, THEMES.dark.heads[head]]));
  assert.equal(sceneFor(makeState({ view: "heatmap", heads: [0, 1] }), "dark").strands.length, 1);
});

test("compared heads share the limits of their values", async () => {
  const sceneFor = sceneMaker(await makeAttention({ masked: "" }, { scores: true }));
  const { limits } = sceneFor(makeState({ view: "lines", heads: [0, 1], step: "scores" }), "light");
  assert.deepEqual(rounded(limits), [-8, 8]);
});

test("an opened cell is the one of its tokens, also when they are joined to words", async () => {
  const sceneFor = sceneMaker(await makeAttention());
  assert.equal(sceneFor(makeState({ query: 1, key: 2 }), "light").opened, 2);
  assert.equal(sceneFor(makeState({ query: 1, key: 1, joined: true }), "light").opened, 0);
  assert.equal(sceneFor(makeState({ query: 1 }), "light").opened, null);
});

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
    "“▁dog” attends to “▁fluss”: 1.0000. “▁dog” attends most to: “▁fluss” 1.0000, “▁Don” 0.0000, “au” 0.0000.");
  assert.match(focusText(scene, { query: 1, key: 3 }), /^“▁dog” attends to “<pad>”: masked \(padding\)\./);
  assert.equal(focusText(scene, { query: 2 }), "“<pad>” attends most to: nothing: all keys are masked.");
  assert.equal(focusText(scene, { key: 1 }), "“au” is attended to most by: “▁the” 0.2500, “▁dog” 0.0000.");
  assert.equal(focusText(scene, { key: 3 }), "“<pad>” is attended to most by: no query.");
  assert.equal(focusText(scene, { layer: 0, head: MEAN }),
    "layer 0, mean of heads: entropy 0.59 of at most 1.39 nats");
});

test("a focus among the lines of several heads is described for each", async () => {
  const scene = sceneMaker(await makeAttention())(makeState({ view: "lines", heads: [0, 1] }), "light");
  assert.equal(focusText(scene, { query: 1 }),
    "“▁dog” attends most to, head 0: “▁fluss” 1.0000; head 1: “▁Don” 1.0000.");
  assert.equal(focusText(scene, { key: 0 }),
    "“▁Don” is attended to most by, head 0: “▁the” 0.5000; head 1: “▁dog” 1.0000.");
  assert.match(focusText(scene, { query: 2 }), /head 0: nothing; head 1: nothing/);
});

test("the title names what is shown, the label says how to use it", async () => {
  const attention = await makeAttention();
  /** @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} changes */
  const scene = (changes) => sceneMaker(attention)(makeState(changes), "light");
  assert.equal(titleOf(scene({})), "By hand, layer 0, head 0");
  assert.equal(titleOf(scene({ view: "heads" })), "By hand, layer 0");
  assert.equal(titleOf(scene({ view: "grid" })), "By hand");
  assert.equal(titleOf(scene({ view: "lines", heads: [0, 1] })), "By hand, layer 0, heads 0, 1");
  assert.match(stageLabel(scene({})), /cross-attention: heatmap of 3 queries by 4 keys\. .* Enter locks a row/);
  assert.match(stageLabel(scene({ view: "grid" })), /all layers of .*, at layer 0, head 0\. .* Enter opens a head/);
});

test("the heads that are drawn are announced", async () => {
  const attention = await makeAttention();
  /** @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} changes */
  const announced = (changes) => chosenText(sceneMaker(attention)(makeState(changes), "light"));
  assert.match(announced({ head: 1 }), /^By hand, layer 0, head 1: entropy \d\.\d\d of at most \d\.\d\d nats/);
  assert.match(announced({ head: 1, view: "heads" }), /^By hand, layer 0, at head 1: entropy/);
  assert.match(announced({ head: 1, view: "lines", heads: [0, 1] }),
    /^By hand, layer 0, heads 0, 1: head 0, entropy [^;]+; head 1, entropy [^;]+$/);
});

test("among several kinds of attention the title says which is shown", async () => {
  const [, causal] = await makeModel();
  const scene = sceneMaker(causal, true)(makeState({ kind: "causal", view: "grid" }), "light");
  assert.equal(titleOf(scene), "Model, causal self-attention");
  assert.match(stageLabel(scene), /^Model, causal self-attention: all layers/);
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
  assert.equal(page.split("<h1>").length, 2);
  const source = JSON.parse(page.split('id="source">')[1].split("</script>")[0]);
  assert.deepEqual(source, { module: "</script>", style: "</style>", state });
  assert.ok(page.includes('atob("AQI=")'));
});

test("every palette that Python offers has two colours or more", () => {
  for (const colours of Object.values(PALETTES)) assert.match(colours, /^([0-9a-f]{6} )+[0-9a-f]{6}$/);
});

test("of two sentences, the summary of a head is that of its whole rows", async () => {
  const sceneFor = sceneMaker(await makePair()), whole = sceneFor(makeState({ kind: "self", sentences: "all" }), "light");
  const part = sceneFor(makeState({ kind: "self", sentences: "BA", stretch: true, query: 3 }), "light");
  assert.deepEqual(part.summary(0, 0), whole.summary(0, 0));
  assert.equal(part.locked, 1);
  assert.deepEqual(part.limits, [0, 1]);
  const { limits } = sceneFor(makeState({ kind: "self", sentences: "BB", stretch: true }), "light");
  assert.deepEqual(rounded(limits), [0, 0.25]);
  assert.equal(titleOf(part), "Pair, layer 0, head 0, from sentence B to sentence A");
  assert.match(stageLabel(part), /heatmap of 2 queries by 2 keys/);
});

test("the description of a part names it as one", async () => {
  const scene = sceneMaker(await makePair())(makeState({ kind: "self", sentences: "AB" }), "light");
  assert.equal(focusText(scene, { query: 0 }), "“a” attends most in sentence B to: “##c” 0.1250, “d” 0.1250.");
  assert.equal(focusText(scene, { key: 1 }), "“d” is attended to most in sentence A by: “b” 0.7500, “a” 0.1250.");
  assert.deepEqual(sentenceTexts(scene),
    ["sentence A: tokens 0 to 1, B: tokens 2 to 3", "part of each row, not renormalised", "entropy: of whole rows"]);
  assert.deepEqual(sentenceTexts(sceneMaker(await makeAttention())(makeState(), "light")), []);
});

test("named heads of one layer are called by their names alone, and have no mean", async () => {
  const attention = await makeAttention({ headNames: ["tokens", "positions"] });
  const scene = sceneMaker(attention)(makeState({ head: 1 }), "light");
  assert.equal(titleOf(scene), "By hand, positions");
  assert.match(focusText(scene, { layer: 0, head: 0 }), /^tokens: entropy/);
  assert.equal(attention.hasMean, false);
  assert.equal((await makeAttention()).hasMean, true);
  const lines = sceneMaker(attention)(makeState({ view: "lines", heads: [0, 1] }), "light");
  assert.equal(titleOf(lines), "By hand, tokens, positions");
});

test("named layers are versions of one, and are called so", async () => {
  const attention = { ...await makeAttention({ layerNames: ["with"] }), nLayers: 1 };
  const scene = sceneMaker(attention)(makeState(), "light");
  assert.equal(titleOf(scene), "By hand, with, head 0");
  assert.equal(viewName(attention, "grid"), "All versions");
  assert.equal(viewName(await makeAttention(), "grid"), "All layers");
  const grid = sceneMaker(attention)(makeState({ view: "grid" }), "light");
  assert.match(stageLabel(grid), /^By hand, cross-attention: all versions of 3 queries/);
});
