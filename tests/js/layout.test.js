// @ts-check
// Where the views put things, and what they find at a point. A character is 8 pixels wide here.

import assert from "node:assert/strict";
import { test } from "node:test";

import { truncate, widestLabel } from "../../course_lib/assets/explorer/drawing/canvas.js";
import { MEAN, TALLEST } from "../../course_lib/assets/explorer/constants.js";
import { range } from "../../course_lib/assets/explorer/data/data.js";
import { gridView, headsView } from "../../course_lib/assets/explorer/drawing/heads.js";
import { heatmapView } from "../../course_lib/assets/explorer/drawing/heatmap.js";
import { faintestLine, linesView } from "../../course_lib/assets/explorer/drawing/lines.js";
import { sceneMaker } from "../../course_lib/assets/explorer/scene.js";
import { makeAttention, makeState } from "./attention.js";

const context = { measureText: (/** @type {string} */ text) => ({ width: 8 * text.length }) };
Object.assign(globalThis, { document: { createElement: () => ({ getContext: () => context }) } });

const WIDTHS = range(900).map((i) => 300 + i);

/** @param {Partial<import("../../course_lib/assets/explorer/constants.js").State>} [changes] */
const makeScene = async (changes) => sceneMaker(await makeAttention())(makeState(changes), "light");

/** @param {number} count */
const tokens = (count) => Array.from({ length: count }, (_, i) => `token${i}`);

/** A scene with long axes, whose weights are never looked at. @param {number} queries @param {number} keys */
const makeLongScene = async (queries, keys) => {
  const scene = await makeScene();
  /** @param {string[]} texts */
  const groups = (texts) => texts.map((text, i) => ({ text, label: text, members: [i], pad: false, ink: /** @type {const} */ ("ink") }));
  return { ...scene, axes: { ...scene.axes, queries: groups(tokens(queries)), keys: groups(tokens(keys)) } };
};

test("a label that is too long is cut, with an ellipsis", () => {
  assert.equal(truncate("short", 40), "short");
  assert.equal(truncate("much longer", 40), "much…");
  assert.equal(truncate("abc", 1), "a…");
});

test("labels take the width of the widest, up to a maximum", async () => {
  const { axes } = await makeScene();
  assert.equal(widestLabel(axes.keys, 100), 48); // "▁fluss"
  assert.equal(widestLabel(axes.keys, 30), 30);
});

for (const [name, view] of Object.entries({ heatmapView, linesView, headsView, gridView }))
  test(`${name} fits the width that it is given`, async () => {
    const scene = await makeScene();
    for (const width of WIDTHS) assert.ok(view.layout(scene, width).width <= width, `${width}`);
  });

test("the cells of a heatmap fill the width, up to 112 pixels, and shrink with their number to 4", async () => {
  const few = heatmapView.layout(await makeScene(), 900);
  assert.deepEqual([few.w, few.h, few.rows, few.columns], [112, 52, 3, 4]);
  assert.equal(few.height, few.top + 3 * 52 + 8);
  const some = heatmapView.layout(await makeLongScene(12, 12), 900);
  assert.ok(some.left + 12 * some.w > 900 - 12 - 12 && some.h < some.w);
  const square = heatmapView.layout(await makeLongScene(40, 40), 900);
  assert.equal(square.h, 16);
  const many = heatmapView.layout(await makeLongScene(300, 300), 900);
  assert.deepEqual([many.w, many.h], [4, 4]);
});

test("a heatmap of up to 64 tokens is seen as a whole, without scrolling down", async () => {
  for (const count of range(64)) {
    const layout = heatmapView.layout(await makeLongScene(count + 1, count + 1), 900);
    assert.ok(layout.height <= TALLEST, `${count + 1}: ${layout.height}`);
  }
});

test("key labels of a heatmap are horizontal only where all of them fit", async () => {
  assert.ok(heatmapView.layout(await makeScene(), 900).horizontal); // 48 pixels in 112
  assert.ok(!heatmapView.layout(await makeLongScene(3, 4), 240).horizontal);
});

test("a point in a heatmap is a cell, left of it a row, above it a column, outside nothing", async () => {
  const layout = heatmapView.layout(await makeScene(), 900), { left, top, w, h } = layout;
  assert.deepEqual(heatmapView.hit(layout, left + 2.5 * w, top + 1.5 * h), { query: 1, key: 2 });
  assert.deepEqual(heatmapView.hit(layout, left - 5, top + 1.5 * h), { query: 1 });
  assert.deepEqual(heatmapView.hit(layout, left + 2.5 * w, top - 5), { key: 2 });
  assert.equal(heatmapView.hit(layout, left + 5, 5), null); // "key →"
  assert.equal(heatmapView.hit(layout, left - 5, top - 5), null);
  assert.equal(heatmapView.hit(layout, left + 4 * w + 1, top + 5), null);
  assert.equal(heatmapView.hit(layout, left + 5, top + 3 * h + 1), null);
});

test("lines centre the shorter of the two columns", async () => {
  const layout = linesView.layout(await makeScene(), 700);
  assert.equal(layout.y0 - layout.y1, layout.pitch / 2); // three queries beside four keys
  assert.equal(layout.height, 30 + 4 * layout.pitch + 8);
});

test("a point beside lines is a query on the left, a key on the right, nothing between", async () => {
  const layout = linesView.layout(await makeScene(), 700), { x0, x1, y0, y1, pitch } = layout;
  assert.deepEqual(linesView.hit(layout, x0 - 5, y0 + 1.5 * pitch), { query: 1 });
  assert.deepEqual(linesView.hit(layout, x1 + 5, y1 + 3.5 * pitch), { key: 3 });
  assert.equal(linesView.hit(layout, (x0 + x1) / 2, y0 + pitch), null);
  assert.equal(linesView.hit(layout, x0 - 5, y0 - 1), null);
  assert.equal(linesView.hit(layout, x1 + 5, y1 + 4 * pitch + 1), null);
});

test("the heads of a layer are followed by their mean", async () => {
  const layout = headsView.layout(await makeScene(), 700);
  assert.deepEqual(layout.thumbnails.map(({ head }) => head), [0, 1, MEAN]);
  assert.equal(layout.perRow, 3);
  assert.equal(headsView.layout(await makeScene(), 350).perRow, 2);
});

test("the grid has a row for each layer", async () => {
  const scene = await makeScene();
  const layout = gridView.layout({ ...scene, attention: { ...scene.attention, nLayers: 3 } }, 700);
  assert.deepEqual(layout.thumbnails.map(({ layer }) => layer), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
  assert.equal(new Set(layout.thumbnails.map(({ y }) => y)).size, 3);
});

test("a grid of up to eight layers is seen as a whole, without scrolling down", async () => {
  for (const tokens of [4, 12]) {
    const scene = await makeLongScene(12, tokens);
    for (const nLayers of range(8).map((i) => i + 1)) {
      const layout = gridView.layout({ ...scene, attention: { ...scene.attention, nLayers } }, 900);
      if (layout.w > 44) assert.ok(layout.height <= TALLEST, `${nLayers}: ${layout.height}`);
      if (tokens === 12) assert.ok(layout.height <= TALLEST, `${nLayers}: ${layout.height}`);
    }
  }
});

test("the grid has only the layers that were chosen", async () => {
  const scene = await makeScene({ layers: [0, 2] }), state = { ...scene.state, layers: [0, 2] };
  const layout = gridView.layout({ ...scene, state, attention: { ...scene.attention, nLayers: 3 } }, 700);
  assert.deepEqual(layout.thumbnails.map(({ layer }) => layer), [0, 0, 0, 2, 2, 2]);
});

test("a single head has no mean beside it", async () => {
  const scene = await makeScene(), single = { ...scene, attention: { ...scene.attention, nHeads: 1, hasMean: false } };
  assert.deepEqual(headsView.layout(single, 700).thumbnails.map(({ head }) => head), [0]);
  assert.deepEqual(gridView.layout(single, 700).thumbnails.map(({ head }) => head), [0]);
});

test("a point in a thumbnail is a head and a cell, one below it the head alone", async () => {
  const layout = headsView.layout(await makeScene(), 700), { x, y } = layout.thumbnails[1];
  const inside = headsView.hit(layout, x + (layout.w * 2.5) / 4, y + (layout.h * 1.5) / 3);
  assert.deepEqual(inside, { layer: 0, head: 1, query: 1, key: 2 });
  assert.deepEqual(headsView.hit(layout, x + 5, y + layout.h + 5), { layer: 0, head: 1 });
  assert.equal(headsView.hit(layout, x + layout.w + 3, y + 5), null);
});

test("lines are drawn from 0.02 on, and of very many only the strongest", async () => {
  const scene = await makeScene({ view: "lines" });
  assert.equal(scene.faintest(), 0.02);
  /** Strengths from 0 to `top` in equal steps. @param {number} count @param {number} top */
  const strand = (count, top) => {
    const values = Float32Array.from({ length: count }, (_, i) => (i / count) * top);
    return { ...scene.strands[0], matrix: { ...scene.matrix, values, masked: new Uint8Array(count) } };
  };
  /** @param {number} found @param {number} expected */
  const near = (found, expected) => assert.ok(Math.abs(found - expected) < 0.011, `${found}, expected ${expected}`);
  assert.equal(faintestLine([strand(100, 1)], [0, 1]), 0.02);
  near(faintestLine([strand(1000, 1)], [0, 1]), 0.86); // 140 wide lines of 1000
  near(faintestLine([strand(500, 1), strand(500, 1)], [0, 1]), 0.86);
  near(faintestLine([strand(2000, 0.12)], [0, 1]), 0.078); // 700 hairlines of 2000
  near(faintestLine([strand(1000, 3)], [0, 3]), 0.86); // a share of the largest
});
