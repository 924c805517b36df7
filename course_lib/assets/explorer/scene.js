// @ts-check
// From a state to what is drawn: a scene holds all that the views need.

import { THEMES, headStyle, paletteOf } from "./drawing/colour.js";
import { KINDS, SENTENCES } from "./constants.js";
import { alignmentError, axesOf, entropyOf, groupIndex, limitsOf, matrixOf } from "./data/data.js";
import { headName, layersOf, placeName, summaryText, viewName } from "./describe.js";
import { faintestLine } from "./drawing/lines.js";
import { isComparison } from "./state.js";
import { isOverview } from "./drawing/views.js";

/** @import { Palette, Theme, ThemeName } from "./drawing/colour.js" */
/** @import { Sentences, State, Step } from "./constants.js" */
/** @import { Attention, Axes, Matrix } from "./data/data.js" */

/**
 * A head in a few numbers, of whole rows even where the keys of one sentence alone are shown.
 *
 * @typedef {object} Summary
 * @property {number} entropy
 * @property {number} most the largest entropy that there can be
 * @property {number | null} error the alignment error rate
 */
/** @typedef {[low: number, high: number]} Limits */

/**
 * A head that is drawn as lines.
 *
 * @typedef {object} Strand
 * @property {number} head
 * @property {Matrix} matrix
 * @property {string} colour
 * @property {number} dashes how many the lines consist of; 0 for unbroken ones
 */

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
 * @property {boolean} several whether there are tabs with other kinds of attention
 * @property {State} state
 * @property {Matrix} matrix of the chosen layer, head and step
 * @property {Strand[]} strands the heads that the lines show: the chosen one, or several to compare
 * @property {() => number} faintest how strong a line must be to be drawn, from 0 to 1
 * @property {Axes} axes
 * @property {Theme} theme
 * @property {Palette} palette
 * @property {Limits} limits the values at the two ends of the colours
 * @property {number | null} locked the row that is locked
 * @property {number | null} opened the column of the cell in it that is opened
 * @property {(layer: number, head: number) => Matrix} matrixAt another head at the chosen step
 * @property {(layer: number, head: number) => Limits} limitsAt
 * @property {(layer: number, head: number) => Summary} summary of the weights, whichever step is chosen
 */

const CACHE_SIZE = 900; // matrices, limits and summaries

/** @param {Attention} attention @param {boolean} several */
export function sceneMaker(attention, several = false) {
  const cached = cache(CACHE_SIZE);
  /** @param {boolean} joined @param {Sentences} sentences @returns {Axes} */
  const axesFor = (joined, sentences) => cached(
    `axes ${joined} ${sentences}`, () => axesOf(attention, joined, sentences));

  /** @param {State} state @param {ThemeName} themeName @returns {Scene} */
  return (state, themeName) => {
    const { layer, head, step, joined, stretch, sentences = "all" } = state;
    const chosen = axesFor(joined, sentences), whole = axesFor(joined, "all"), theme = THEMES[themeName];
    /** @type {(step: Step, layer: number, head: number, axes?: Axes) => Matrix} */
    const compute = (step, layer, head, axes = chosen) => cached(
      `${step} ${layer} ${head} ${joined} ${axes.sentences}`, () => matrixOf(attention, axes, step, layer, head));
    /** @param {number} layer @param {number} head @returns {Limits} */
    const limitsAt = (layer, head) => cached(
      `limits ${step} ${layer} ${head} ${joined} ${sentences} ${stretch}`, () => limitsOf(compute(step, layer, head), stretch));
    const strands = isComparison(state)
      ? state.heads.map((head) => ({ head, matrix: compute(step, layer, head), ...headStyle(theme, head) }))
      : [{ head, matrix: compute(step, layer, head), colour: theme.line, dashes: 0 }];
    const ends = strands.map((strand) => limitsAt(layer, strand.head));
    /** @type {Limits} */
    const limits = [Math.min(...ends.map(([low]) => low)), Math.max(...ends.map(([, high]) => high))];
    const locked = state.query === null ? null : groupIndex(chosen.queries, state.query);
    return {
      attention, several, state, matrix: compute(step, layer, head), strands, axes: chosen, theme, locked,
      limits, limitsAt, faintest: () => cached(
        `faintest ${step} ${layer} ${strands.map((strand) => strand.head)} ${joined} ${sentences} ${stretch}`,
        () => faintestLine(strands, limits)),
      palette: cached(`palette ${state.palette} ${themeName} ${step}`,
        () => paletteOf(state.palette, themeName, step !== "weights")),
      opened: locked === null || state.key === null ? null : groupIndex(chosen.keys, state.key),
      matrixAt: (layer, head) => compute(step, layer, head),
      summary: (layer, head) => cached(`summary ${layer} ${head} ${joined} ${state.gold}`, () => {
        const weights = compute("weights", layer, head, whole);
        return {
          entropy: entropyOf(weights), most: Math.log(whole.keys.length),
          error: state.gold ? alignmentError(weights, whole.gold) : null,
        };
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

/** @param {Scene} scene */
export function titleOf({ attention, several, state }) {
  const parts = [attention.title];
  if (several) parts.push(KINDS[attention.kind]);
  if (state.view !== "grid") parts.push(...layersOf(attention, state.layer));
  if (isComparison(state)) parts.push(attention.headNames.length
    ? state.heads.map((head) => headName(attention, head)).join(", ") : `heads ${state.heads.join(", ")}`);
  else if (!isOverview(state.view)) parts.push(headName(attention, state.head));
  if (state.sentences && state.sentences !== "all") parts.push(SENTENCES[state.sentences].name);
  return parts.join(", ");
}

/**
 * What a screen reader says when something was chosen: the head or heads, and how sharp they are.
 *
 * @param {Scene} scene
 */
export function chosenText(scene) {
  const { attention, state: { layer, head }, strands, summary } = scene;
  if (strands.length > 1) return `${titleOf(scene)}: ` + strands.map((strand) =>
    `${headName(attention, strand.head)}, ${summaryText(summary(layer, strand.head))}`).join("; ");
  return `${titleOf(scene)}${whereOf(scene)}: ${summaryText(summary(layer, head))}`;
}

/** Which of many heads is chosen, where the title does not name it. @param {Scene} scene */
const whereOf = ({ attention, state: { layer, head, view } }) =>
  view === "grid" ? `, at ${placeName(attention, layer, head)}` : view === "heads" ? `, at ${headName(attention, head)}` : "";

/**
 * What a screen reader says of the picture.
 *
 * @param {Scene} scene
 */
export function stageLabel(scene) {
  const { attention, axes, several, state } = scene;
  const enter = isOverview(state.view) ? "Enter opens a head" : "Enter locks a row or opens a cell, Escape releases it";
  const kind = several ? "" : `, ${KINDS[attention.kind]}`; // otherwise it is in the title
  return `${titleOf(scene)}${kind}: ${viewName(attention, state.view).toLowerCase()} of ` +
    `${axes.queries.length} queries by ${axes.keys.length} keys${whereOf(scene)}. ` +
    `The arrow keys move, ${enter}, Page Up and Page Down change the head.`;
}
