// @ts-check
// Palettes, and from a value to its colour.

import assert from "node:assert/strict";
import { test } from "node:test";

import { THEMES, colourScale, headStyle, isBright, paletteOf } from "../../course_lib/assets/explorer/drawing/colour.js";
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
  assert.ok(isBright(paletteOf("slate", "light", true).table[128]));
  assert.ok(!isBright(paletteOf("slate", "dark", true).table[128]));
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

/** @param {string} hex @returns {number[]} linear red, green, blue */
const linear = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
  .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));

/** @param {number[][]} rows @param {number[]} vector */
const times = (rows, vector) => rows.map((row) => row.reduce((sum, a, i) => sum + a * vector[i], 0));

// From linear RGB to CIE XYZ, and to what colour-blind readers see (Machado et al. 2009, severity 1).
const XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
const VISION = {
  normal: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  protan: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
  deutan: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  tritan: [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
};

/** @param {number[]} rgb linear @returns {number[]} CIELAB */
function lab(rgb) {
  const [x, y, z] = times(XYZ, rgb.map((c) => Math.max(0, Math.min(1, c))))
    .map((value, i) => value / [0.9505, 1, 1.089][i])
    .map((t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

for (const [name, theme] of Object.entries(THEMES)) {
  test(`${name}: the lines of any two heads differ for everybody`, () => {
    for (const [vision, matrix] of Object.entries(VISION)) {
      const seen = theme.heads.map((hex) => lab(times(matrix, linear(hex))));
      seen.forEach((a, i) => seen.slice(0, i).forEach((b, j) => {
        const distance = Math.hypot(...a.map((value, axis) => value - b[axis]));
        assert.ok(distance >= 28, `${vision}: heads ${j} and ${i} differ by ${distance}`);
      }));
    }
  });

  test(`${name}: the lines of every head stand out from the page, at 3 to 1 or more`, () => {
    /** @param {string} hex */
    const brightness = (hex) => times(XYZ, linear(hex))[1] + 0.05;
    for (const hex of theme.heads) {
      const [low, high] = [brightness(hex), brightness(theme.back)].sort((a, b) => a - b);
      assert.ok(high / low >= 3, `${hex}: ${high / low}`);
    }
  });
}

test("heads whose colours are equal have other dashes", () => {
  const styles = [0, 8, 16].map((head) => headStyle(THEMES.light, head));
  assert.equal(new Set(styles.map(({ colour }) => colour)).size, 1);
  assert.equal(new Set(styles.map(({ dashes }) => dashes)).size, 3);
});
