// @ts-check
// What may be shown, and what follows from a choice, as in course_lib/viz/explorer_state.py. Pure functions.

import { MEAN, PALETTES, STEPS, VIEW_NAMES } from "./constants.js";

/** @import { State } from "./constants.js" */
/** @import { Attention } from "./data.js" */

/**
 * The tab that a state shows, or the first if there is none of its kind.
 *
 * @param {Attention[]} attentions
 * @param {State} state
 */
export const attentionOf = (attentions, state) =>
  attentions.find(({ kind }) => kind === state.kind) ?? attentions[0];

/**
 * The state with changes, and with what they imply. Another kind of attention has other tokens, so nothing
 * stays locked. Another head ends the comparison of several; another row closes the cell that was open.
 *
 * @param {State} state
 * @param {Partial<State>} patch
 * @param {Attention[]} attentions
 * @returns {State}
 */
export function stateAfter(state, patch, attentions) {
  /** @type {Partial<State>} */
  const implied = {};
  if ((patch.kind ?? state.kind) !== state.kind)
    Object.assign(implied, { heads: [], layers: [], query: null, key: null, step: "weights" });
  if (patch.head !== undefined) implied.heads = [];
  if (patch.query !== undefined) implied.key = null;
  return validState({ ...state, ...implied, ...patch }, attentions);
}

/**
 * The nearest state that can be shown: a saved one may come from another version, and a control may ask
 * for what this attention does not have.
 *
 * @param {State} state
 * @param {Attention[]} attentions
 * @returns {State}
 */
export function validState(state, attentions) {
  const attention = attentionOf(attentions, state), { nLayers, nHeads, nQueries, nKeys } = attention;
  /** @param {number} value @param {number} low @param {number} high */
  const within = (value, low, high) => Math.max(low, Math.min(high, Math.round(value) || 0));
  /** @param {number[] | undefined} chosen @param {number} count */
  const subset = (chosen, count) =>
    [...new Set(chosen ?? [])].filter((i) => Number.isInteger(i) && i >= 0 && i < count).sort((a, b) => a - b);
  const joined = state.joined && attention.hasSubwords;
  const heads = subset(state.heads, nHeads), layers = subset(state.layers, nLayers);
  const query = state.query === null ? null : within(state.query, 0, nQueries - 1);
  return {
    ...state,
    kind: attention.kind,
    layer: within(state.layer, 0, nLayers - 1),
    head: heads.length === 1 ? heads[0] : within(state.head, MEAN, nHeads - 1), // a comparison of one
    heads: heads.length === 1 ? [] : heads,
    layers: layers.length === nLayers ? [] : layers,
    view: state.view in VIEW_NAMES ? state.view : "heatmap",
    palette: state.palette in PALETTES ? state.palette : "mako",
    joined,
    step: attention.hasScores && !joined && state.step in STEPS ? state.step : "weights",
    query,
    key: query === null || state.key === null || state.key === undefined ? null : within(state.key, 0, nKeys - 1),
  };
}
