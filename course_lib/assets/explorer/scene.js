// @ts-check
// From a state to what is drawn: a scene holds all that the views need.

import { THEMES, paletteOf } from "./colour.js";
import { KINDS, MEAN, PALETTES, STEPS, VIEW_NAMES } from "./constants.js";
import { alignmentError, axesOf, entropyOf, groupIndex, limitsOf, matrixOf } from "./data.js";
import { headName } from "./describe.js";
import { isOverview } from "./views.js";

/** @import { Palette, Theme, ThemeName } from "./colour.js" */
/** @import { State, Step } from "./constants.js" */
/** @import { Attention, Axes, Matrix } from "./data.js" */

/** @typedef {{ entropy: number, error: number | null }} Summary the error is the alignment error rate */

/**
 * What the pointer or the keyboard is at: a head (and a cell in it), a row or a cell, a column.
 *
 * @typedef {{ layer: number, head: number, query?: number, key?: number }
 *   | { query: number, key?: number }
 *   | { query?: undefined, key: number }} Focus
 */

/**
 * @typedef {object} Scene
 * @property {Attention} attention
 * @property {State} state
 * @property {Matrix} matrix of the chosen layer, head and step
 * @property {Axes} axes
 * @property {Theme} theme
 * @property {Palette} palette
 * @property {[low: number, high: number]} limits
 * @property {number | null} locked the row that is locked
 * @property {(layer: number, head: number) => Matrix} matrixAt another head at the chosen step
 * @property {(layer: number, head: number) => Summary} summary of the weights, whichever step is chosen
 */

const CACHE_SIZE = 400; // matrices and summaries

/** @param {Attention} attention */
export function sceneMaker(attention) {
  const axes = { tokens: axesOf(attention, false), words: axesOf(attention, true) };
  const cached = cache(CACHE_SIZE);

  /** @param {State} state @param {ThemeName} theme @returns {Scene} */
  return (state, theme) => {
    const chosen = state.joined ? axes.words : axes.tokens;
    /** @type {(step: Step, layer: number, head: number) => Matrix} */
    const compute = (step, layer, head) => cached(
      `${step} ${layer} ${head} ${state.joined}`, () => matrixOf(attention, chosen, step, layer, head));
    const matrix = compute(state.step, state.layer, state.head);
    return {
      attention, state, matrix, axes: chosen, theme: THEMES[theme], limits: limitsOf(matrix, state.stretch),
      palette: paletteOf(state.palette, theme, state.step !== "weights"),
      locked: state.query === null ? null : groupIndex(chosen.queries, state.query),
      matrixAt: (layer, head) => compute(state.step, layer, head),
      summary: (layer, head) => cached(`summary ${layer} ${head} ${state.joined} ${state.gold}`, () => {
        const weights = compute("weights", layer, head);
        return { entropy: entropyOf(weights), error: state.gold ? alignmentError(weights, chosen.gold) : null };
      }),
    };
  };
}

/**
 * Remembers what was computed for a key, and forgets everything when it is full.
 *
 * @param {number} size
 */
function cache(size) {
  /** @type {Map<string, any>} */
  const known = new Map();
  /** @template Value @param {string} key @param {() => Value} compute @returns {Value} */
  return (key, compute) => {
    if (known.size > size) known.clear();
    if (!known.has(key)) known.set(key, compute());
    return known.get(key);
  };
}

/**
 * The nearest state that can be shown: a saved one may come from another version, and a control may ask
 * for what this attention does not have.
 *
 * @param {State} state
 * @param {Attention} attention
 * @returns {State}
 */
export function validState(state, attention) {
  /** @param {number} value @param {number} low @param {number} high */
  const within = (value, low, high) => Math.max(low, Math.min(high, Math.round(value) || 0));
  const joined = state.joined && attention.hasSubwords;
  return {
    ...state,
    layer: within(state.layer, 0, attention.nLayers - 1),
    head: within(state.head, MEAN, attention.nHeads - 1),
    view: state.view in VIEW_NAMES ? state.view : "heatmap",
    palette: state.palette in PALETTES ? state.palette : "mako",
    joined,
    step: attention.scores && !joined && state.step in STEPS ? state.step : "weights",
    query: state.query === null ? null : within(state.query, 0, attention.nQueries - 1),
  };
}

/** @param {Scene} scene */
export function titleOf({ attention, state }) {
  if (state.view === "grid") return attention.title;
  return `${attention.title}, layer ${state.layer}` + (state.view === "heads" ? "" : `, ${headName(state.head)}`);
}

/**
 * What a screen reader says of the picture.
 *
 * @param {Scene} scene
 */
export function stageLabel(scene) {
  const { attention, axes, state } = scene;
  const enter = isOverview(state.view) ? "Enter opens a head" : "Enter locks a row, Escape releases it";
  return `${titleOf(scene)}, ${KINDS[attention.kind]}: ${VIEW_NAMES[state.view].toLowerCase()} of ` +
    `${axes.queries.length} queries by ${axes.keys.length} keys. ` +
    `The arrow keys move, ${enter}, Page Up and Page Down change the head.`;
}
