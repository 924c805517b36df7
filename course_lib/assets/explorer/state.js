// @ts-check
// What may be shown, and what follows from a choice, as in course_lib/viz/explorer/explorer_state.py: both follow
// the cases in tests/js/state_cases.json. Pure functions.

import { MEAN, PALETTES, SENTENCES, STEPS, VIEW_NAMES } from "./constants.js";
import { inSentence } from "./data/data.js";

/** @import { State } from "./constants.js" */
/** @import { Attention } from "./data/data.js" */

/**
 * The tab that a state shows, or the first if there is none of its kind.
 *
 * @param {Attention[]} attentions
 * @param {State} state
 */
export const attentionOf = (attentions, state) =>
  attentions.find(({ kind }) => kind === state.kind) ?? attentions[0];

/** Whether several heads are drawn over each other. @param {State} state */
export const isComparison = (state) => state.view === "lines" && state.heads.length > 0;

/**
 * The state with changes, and with what they imply. Another kind of attention, or another sentence, has other
 * tokens, so no row stays locked. Another head ends the comparison of several. Another row closes the cell that
 * was open.
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
    Object.assign(implied, { heads: [], layers: [], query: null, key: null, step: "weights", sentences: "all" });
  if ((patch.sentences ?? state.sentences) !== state.sentences) Object.assign(implied, { query: null, key: null });
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
  const { sentences = "all", ...others } = state;
  const chosen = attention.secondSentence !== null && sentences in SENTENCES ? sentences : "all";
  /** @param {number | null | undefined} token @param {number} count @param {0 | 1} side */
  const tokenOf = (token, count, side) => {
    const nearest = token === null || token === undefined ? null : within(token, 0, count - 1);
    return nearest !== null && inSentence(attention, chosen, side, nearest) ? nearest : null;
  };
  const query = tokenOf(state.query, nQueries, 0);
  return {
    ...others,
    kind: attention.kind,
    layer: within(state.layer, 0, nLayers - 1),
    head: heads.length === 1 ? heads[0] : within(state.head, MEAN, nHeads - 1), // a comparison of one
    heads: heads.length === 1 ? [] : heads,
    layers: layers.length === nLayers ? [] : layers,
    view: state.view in VIEW_NAMES ? state.view : "heatmap",
    palette: state.palette in PALETTES ? state.palette : "slate",
    joined,
    step: attention.hasScores && !joined && state.step in STEPS ? state.step : "weights",
    query,
    key: query === null ? null : tokenOf(state.key, nKeys, 1),
    ...(attentions.some(({ secondSentence }) => secondSentence !== null) ? { sentences: chosen } : {}),
  };
}
