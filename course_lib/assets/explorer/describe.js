// @ts-check
// The picture in words: for the panel beside it, for screen readers, for the table below it.

import { MEAN, VIEW_NAMES } from "./constants.js";
import { decimals } from "./data/numbers.js";
import { range } from "./data/data.js";

/** @import { ViewName } from "./constants.js" */
/** @import { Attention, Axes, Matrix } from "./data/data.js" */
/** @import { Focus, Scene, Strand, Summary } from "./scene.js" */

export const ALL_MASKED = "nothing: all keys are masked";

/** @param {string} text */
export const quote = (text) => `“${text}”`;

/** @param {number} value */
export const formatNumber = (value) => decimals(value, 4);

/** @param {Attention} attention @param {number} head */
export const headName = ({ headNames }, head) => (head === MEAN ? "mean of heads" : headNames[head] ?? `head ${head}`);

/** @param {Attention} attention @param {number} layer */
export const layerName = ({ layerNames }, layer) => layerNames[layer] ?? `layer ${layer}`;

/** What layers are: where they have names, they are versions of one. @param {Attention} attention */
export const layerWord = ({ layerNames }) => (layerNames.length ? "version" : "layer");

/** @param {Attention} attention @param {ViewName} view */
export const viewName = (attention, view) => VIEW_NAMES[view].replace("layer", layerWord(attention));

/** @param {Attention} attention @param {number} layer @param {number} head */
export const placeName = (attention, layer, head) => [...layersOf(attention, layer), headName(attention, head)].join(", ");

/** The layer's name; none for the one layer of heads with names. @param {Attention} attention @param {number} layer */
export const layersOf = (attention, layer) =>
  (attention.nLayers > 1 || !attention.headNames.length ? [layerName(attention, layer)] : []);

/**
 * A query's largest weights, largest first.
 *
 * @param {Matrix} matrix
 * @param {number} query
 */
export const topKeys = (matrix, query, count = 3) =>
  range(matrix.columns)
    .filter((key) => !matrix.masked[query * matrix.columns + key])
    .map((key) => ({ key, value: matrix.values[query * matrix.columns + key] }))
    .sort((x, y) => y.value - x.value || x.key - y.key)
    .slice(0, count);

/**
 * The largest weights that a key gets, largest first.
 *
 * @param {Matrix} matrix
 * @param {number} key
 */
export const topQueries = (matrix, key, count = 3) =>
  range(matrix.rows)
    .filter((query) => !matrix.masked[query * matrix.columns + key])
    .map((query) => ({ query, value: matrix.values[query * matrix.columns + key] }))
    .sort((x, y) => y.value - x.value || x.query - y.query)
    .slice(0, count);

/**
 * Such as " in sentence B", where the keys of that sentence alone are shown.
 *
 * @param {Axes} axes
 * @param {0 | 1} side 0 for queries, 1 for keys
 */
export const amongOf = ({ sentences }, side) => (sentences === "all" ? "" : ` in sentence ${sentences[side]}`);

/**
 * @param {Matrix} matrix
 * @param {Axes} axes
 * @param {number} query
 * @param {number} key
 */
export function cellText(matrix, axes, query, key) {
  const i = query * matrix.columns + key;
  const pair = `${quote(axes.queries[query].text)} attends to ${quote(axes.keys[key].text)}`;
  const pad = axes.keys[key].pad || axes.queries[query].pad ? " (padding)" : "";
  return `${pair}: ${matrix.masked[i] ? "masked" : formatNumber(matrix.values[i])}${pad}`;
}

/**
 * @param {Matrix} matrix
 * @param {Axes} axes
 * @param {number} query
 */
export function rowText(matrix, axes, query) {
  const top = topKeys(matrix, query).map(({ key, value }) => `${quote(axes.keys[key].text)} ${formatNumber(value)}`);
  return `${quote(axes.queries[query].text)} attends most${amongOf(axes, 1)} to: ${top.join(", ") || ALL_MASKED}.`;
}

/**
 * @param {Matrix} matrix
 * @param {Axes} axes
 * @param {number} key
 */
function columnText(matrix, axes, key) {
  const top = topQueries(matrix, key)
    .map(({ query, value }) => `${quote(axes.queries[query].text)} ${formatNumber(value)}`);
  return `${quote(axes.keys[key].text)} is attended to most${amongOf(axes, 0)} by: ${top.join(", ") || "no query"}.`;
}

/**
 * Entropy and, where the gold alignment is known, the alignment error rate.
 *
 * @param {Summary} summary
 */
export function summaryText({ entropy, most, error }) {
  const text = `entropy ${decimals(entropy, 2)} of at most ${most.toFixed(2)} nats`;
  return error === null ? text : `${text}; alignment error rate ${error.toFixed(2)}`;
}

/**
 * What each of several heads attends to most in a row, or which query attends to a column most; undefined where
 * that is nothing.
 *
 * @param {Scene} scene
 * @param {number | undefined} query
 * @param {number | undefined} key
 * @returns {{ strand: Strand, text: string, value: number | undefined }[]}
 */
export const strandTops = ({ strands, axes }, query, key) => strands.map((strand) => {
  if (query !== undefined) {
    const [top] = topKeys(strand.matrix, query, 1);
    return { strand, text: top ? axes.keys[top.key].text : "", value: top?.value };
  }
  const [top] = topQueries(strand.matrix, key ?? 0, 1);
  return { strand, text: top ? axes.queries[top.query].text : "", value: top?.value };
});

/** @param {Scene} scene @param {number | undefined} query @param {number | undefined} key */
function strandsText(scene, query, key) {
  const { attention, axes } = scene;
  const tops = strandTops(scene, query, key).map(({ strand, text, value }) =>
    `${headName(attention, strand.head)}: ` + (value === undefined ? "nothing" : `${quote(text)} ${formatNumber(value)}`));
  const what = query !== undefined ? `${quote(axes.queries[query].text)} attends most${amongOf(axes, 1)} to`
    : `${quote(axes.keys[key ?? 0].text)} is attended to most${amongOf(axes, 0)} by`;
  return `${what}, ${tops.join("; ")}.`;
}

/**
 * The cell, row, column or head that has the focus.
 *
 * @param {Scene} scene
 * @param {Focus} focus
 */
export function focusText(scene, focus) {
  const { attention, matrix, axes, summary, strands } = scene;
  if ("layer" in focus)
    return `${placeName(attention, focus.layer, focus.head)}: ${summaryText(summary(focus.layer, focus.head))}`;
  if (strands.length > 1) return strandsText(scene, focus.query, focus.key);
  if (focus.query !== undefined) {
    const row = rowText(matrix, axes, focus.query);
    return focus.key === undefined ? row : `${cellText(matrix, axes, focus.query, focus.key)}. ${row}`;
  }
  return columnText(matrix, axes, focus.key);
}
