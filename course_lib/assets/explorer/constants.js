// @ts-check
// What Python and the browser must agree on. Both read it from constants.json.

import constants from "./constants.json" with { type: "json" };

/** @typedef {keyof typeof constants.kinds} Kind */
/** @typedef {keyof typeof constants.views} ViewName */
/** @typedef {keyof typeof constants.sentences} Sentences */
/** @typedef {keyof typeof constants.steps} Step */
/** @typedef {keyof typeof constants.palettes} PaletteName */

/**
 * What is shown. Python's `select` and the controls change it.
 *
 * @typedef {object} State
 * @property {Kind} kind the tab
 * @property {number} layer
 * @property {number} head MEAN for the mean of all heads
 * @property {number[]} heads those that the lines show together; empty: the chosen head alone
 * @property {number[]} layers those that the grid shows; empty: all of them
 * @property {ViewName} view
 * @property {Step} step
 * @property {number | null} query the token whose row is locked
 * @property {number | null} key the token whose cell in that row is opened
 * @property {boolean} joined whether the subwords of a word are joined
 * @property {boolean} gold whether the gold alignment is shown
 * @property {boolean} stretch whether the colours are those from a head's smallest weight to its largest, not from 0 to 1
 * @property {PaletteName} palette
 * @property {Sentences} [sentences] of two sentences in one sequence: whose queries, and whose keys; it is there only
 *   where the second sentence is known
 */

// The head number that stands for the mean of all heads.
export const MEAN = constants.mean;

// A number is stored as an integer from 0 to this, between the two ends of its range.
export const QUANTISATION_LEVELS = constants.quantisationLevels;

// The names that a reader sees.
export const KINDS = constants.kinds;
export const TABS = constants.tabs;
export const VIEW_NAMES = constants.views;

// Of two sentences in one sequence, A and B: `label` is the button, `name` what a screen reader says.
export const SENTENCES = constants.sentences;

// From scores to weights: `label` is the button, `value` what one number is called.
export const STEPS = constants.steps;

// Colours from the lowest value to the highest, as on a light page.
export const PALETTES = constants.palettes;

// What a reader sees of a picture without scrolling down, in pixels: a little less than .ae-scroll may have.
export const TALLEST = 748;
