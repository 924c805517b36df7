// @ts-check
// Palettes, and from a value to its colour.

import assert from "node:assert/strict";
import { test } from "node:test";

import { THEMES, colourScale, isBright, paletteOf } from "../../course_lib/assets/explorer/colour.js";
import { PALETTES } from "../../course_lib/assets/explorer/constants.js";

const NAMES = /** @type {(keyof typeof PALETTES)[]} */ (Object.keys(PALETTES));

/** @param {number} colour as canvases store it */
const luminance = (colour) =>
  0.299 * (colour & 255) + 0.587 * ((colour >> 8) & 255) + 0.114 * ((colour >> 16) & 255);

for (const name of NAMES)
  test(`${name}: 256 opaque colours whose brightness only rises or only falls`, () => {
    const { table } = paletteOf(name, "light", false);
    assert.equal(table.length, 256);
    assert.ok(table.every((colour) => colour >>> 24 === 255));
    const steps = Array.from(table.subarray(1), (colour, i) => luminance(colour) - luminance(table[i]));
    const direction = Math.sign(luminance(table[255]) - luminance(table[0]));
    assert.ok(steps.every((step) => step * direction > -0.8)); // rounding to whole bytes
  });

test("a palette begins and ends with its own colours", () => {
  const { css, gradient } = paletteOf("viridis", "light", false);
  assert.equal(css(0), "rgb(68 1 84)");
  assert.equal(css(255), "rgb(253 231 37)");
  assert.equal(css(999), css(255));
  assert.ok(gradient.startsWith("linear-gradient(90deg, rgb(68 1 84),"));
});

test("a small weight looks like the page, except in palettes that are always dark at zero", () => {
  for (const name of NAMES) {
    const light = isBright(paletteOf(name, "light", false).table[0]);
    const dark = isBright(paletteOf(name, "dark", false).table[0]);
    const fixed = name === "viridis" || name === "cividis";
    assert.deepEqual([light, dark], [!fixed, false], name);
  }
});

test("a score of zero is the colour of the page", () => {
  assert.ok(isBright(paletteOf("mako", "light", true).table[128]));
  assert.ok(!isBright(paletteOf("mako", "dark", true).table[128]));
});

test("values between the limits get colours between the ends, values beyond them the ends", () => {
  const palette = paletteOf("grey", "light", false), colourOf = colourScale(palette, [-1, 1]);
  assert.equal(colourOf(-1), palette.table[0]);
  assert.equal(colourOf(0), palette.table[128]);
  assert.equal(colourOf(1), palette.table[255]);
  assert.equal(colourOf(-7), palette.table[0]);
  assert.equal(colourOf(7), palette.table[255]);
});

test("both themes have the same colours to give", () =>
  assert.deepEqual(Object.keys(THEMES.light), Object.keys(THEMES.dark)));
