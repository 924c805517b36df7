// @ts-check
// Palettes that colour-blind readers can tell apart, and the theme of the page around the explorer.

import { PALETTES } from "../constants.js";
import { range } from "../data/data.js";

/** @import { PaletteName } from "../constants.js" */
/** @typedef {keyof typeof THEMES} ThemeName */
/** @typedef {typeof THEMES.light} Theme */

/**
 * 256 colours.
 *
 * @typedef {object} Palette
 * @property {Uint32Array} table as canvases store them: alpha, blue, green, red
 * @property {(index: number) => string} css one of them
 * @property {string} gradient all of them, from left to right
 */

// These are dark at zero on every page, as readers know them.
const DARK_AT_ZERO = ["viridis", "cividis"];

// As in course_lib/viz/drawings/colours.py, like those of PALETTES.slate: zero is the colour of the page.
const SLATE_IN_THE_DARK = "12161d b4c6da";

// For scores, which have a sign: brown is negative, teal is positive.
const SIGNED = { light: "85541a ffffff 0b736e", dark: "dcaa6b 12161d 4fc4bb" };

// All but the hatching and `heads` are of course_lib/viz/drawings/colours.py. `heads` are the lines of several heads. Any two differ by at least 28 in CIELAB, for normal vision and for
// each of the three kinds of colour blindness (Machado et al. 2009); tests/js/colour.test.js computes it.
export const THEMES = {
  light: { back: "#ffffff", ink: "#1b2130", soft: "#5b6474", edge: "#d5dae2", accent: "#a8157d",
    line: "#33475b", german: "#1f6bb5", english: "#b45a00", hatch: "#9aa3ae", hatched: "#eceef1",
    heads: ["#1166aa", "#ee6622", "#552255", "#bb7799", "#aa0000", "#9966ff", "#993344", "#4400aa"] },
  dark: { back: "#12161d", ink: "#e7eaf0", soft: "#a5afbd", edge: "#3b4451", accent: "#ff8ad8",
    line: "#b4c6da", german: "#79b4f2", english: "#f0a656", hatch: "#667180", hatched: "#232a34",
    heads: ["#66bbff", "#eeee99", "#ee11aa", "#aaff44", "#8866ff", "#ffaabb", "#448855", "#888800"] },
};

/**
 * A small weight looks like the page, pale on a light one and dark on a dark one, unless the palette is
 * always dark at zero.
 *
 * @param {PaletteName} name
 * @param {ThemeName} theme
 * @param {boolean} signed whether there are values below zero
 * @returns {Palette}
 */
export function paletteOf(name, theme, signed) {
  const slate = name === "slate" && theme === "dark" ? SLATE_IN_THE_DARK : "";
  const stops = (signed ? SIGNED[theme] : slate || PALETTES[name]).split(" ")
    .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  if (!signed && theme === "dark" && !slate && !DARK_AT_ZERO.includes(name)) stops.reverse();
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const x = (i / 255) * (stops.length - 1), n = Math.min(stops.length - 2, Math.floor(x));
    const [r, g, b] = range(3).map((c) =>
      Math.round(stops[n][c] + (x - n) * (stops[n + 1][c] - stops[n][c])));
    table[i] = 0xff000000 | (b << 16) | (g << 8) | r;
  }
  /** @param {number} index */
  const css = (index) => {
    const colour = table[Math.max(0, Math.min(255, Math.round(index)))];
    return `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
  };
  return { table, css, gradient: `linear-gradient(90deg, ${range(13).map((i) => css((i * 255) / 12))})` };
}

// From the ninth head on the colours come again, in this many dashes, and then in more of them.
const DASHES = [0, 20, 50];

/**
 * How the lines of a head look beside those of others.
 *
 * @param {Theme} theme
 * @param {number} head
 */
export const headStyle = (theme, head) => ({
  colour: theme.heads[head % theme.heads.length],
  dashes: DASHES[Math.floor(head / theme.heads.length) % DASHES.length],
});

/**
 * From a value to its colour, as canvases store it. Values beyond the limits get the colours of the ends.
 *
 * @param {Palette} palette
 * @param {[low: number, high: number]} limits
 * @returns {(value: number) => number}
 */
export function colourScale({ table }, [low, high]) {
  const factor = 255 / (high - low);
  return (value) => table[Math.max(0, Math.min(255, ((value - low) * factor + 0.5) | 0))];
}

/**
 * Whether dark text is easier to read on a colour than light text.
 *
 * @param {number} colour as canvases store it
 */
export const isBright = (colour) =>
  0.299 * (colour & 255) + 0.587 * ((colour >> 8) & 255) + 0.114 * ((colour >> 16) & 255) > 125;

/**
 * The page's own setting first (JupyterLab), then the background behind the explorer, then the system.
 *
 * @param {HTMLElement} element
 * @returns {ThemeName}
 */
export function themeAround(element) {
  const lab = document.body.dataset.jpThemeLight;
  if (lab) return lab === "true" ? "light" : "dark";
  for (let node = /** @type {HTMLElement | null} */ (element); node; node = node.parentElement) {
    const [r, g, b, alpha = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (alpha > 0.5) return 0.299 * r + 0.587 * g + 0.114 * b > 128 ? "light" : "dark";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/**
 * @param {() => void} callback
 * @returns {() => void} stops watching
 */
export function onThemeChange(callback) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const watcher = new MutationObserver(callback);
  const attributeFilter = ["class", "style", "theme", "data-jp-theme-light"];
  for (const node of [document.documentElement, document.body])
    watcher.observe(node, { attributes: true, attributeFilter });
  system.addEventListener("change", callback);
  return () => { watcher.disconnect(); system.removeEventListener("change", callback); };
}
