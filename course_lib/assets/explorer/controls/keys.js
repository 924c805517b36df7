// @ts-check
// The keyboard: whatever a pointer can do on the stage can be done with keys.

import { MEAN } from "../constants.js";
import { range } from "../data/data.js";
import { isOverview } from "../drawing/views.js";

/** @import { State } from "../constants.js" */
/** @import { HeatmapLayout } from "../drawing/heatmap.js" */
/** @import { Focus, Scene } from "../scene.js" */

/**
 * What keys can ask for.
 *
 * @typedef {object} Stage
 * @property {() => Scene} scene
 * @property {() => Focus | null} focus
 * @property {() => number} perRow thumbnails in a row
 * @property {(focus: Focus | null) => void} moveTo
 * @property {(patch: Partial<State>) => void} choose
 * @property {(query: number, key?: number) => void} lock a row, or a cell in it
 * @property {(head: { layer: number, head: number }) => void} open
 */

/**
 * @param {HTMLElement} node
 * @param {Stage} stage
 */
export function listenToKeys(node, stage) {
  // The mean comes after the last head.
  /** @param {number} step */
  const headAfter = (step) => {
    const { attention: { hasMean, nHeads }, state } = stage.scene();
    const position = state.head === MEAN ? nHeads : state.head;
    const next = Math.max(0, Math.min(nHeads - +!hasMean, position + step));
    return next === nHeads ? MEAN : next;
  };
  /** @param {number} step */
  const layerAfter = (step) => stage.scene().state.layer + step;
  /** The next of the layers that the grid shows. @param {number} step */
  const shownLayerAfter = (step) => {
    const { attention: { nLayers }, state } = stage.scene();
    const shown = state.layers.length ? state.layers : range(nLayers);
    const ahead = shown.filter((layer) => (layer - state.layer) * step > 0);
    return ahead.length ? (step > 0 ? ahead[0] : ahead[ahead.length - 1]) : state.layer;
  };

  // Beyond the first cell of a row is its query token, above the first of a column its key token: both are -1.
  /** @param {number} rows @param {number} columns */
  const moveCell = (rows, columns) => {
    const { axes, locked, opened } = stage.scene(), focus = stage.focus();
    if (!focus) return stage.moveTo({ query: locked ?? 0, key: opened ?? 0 }); // the first key shows where one is
    /** @param {number} index @param {number} count */
    const within = (index, count) => Math.max(-1, Math.min(count - 1, index));
    const query = within((focus.query ?? -1) + rows, axes.queries.length);
    const key = within((focus.key ?? -1) + columns, axes.keys.length);
    if (query >= 0) stage.moveTo(key < 0 ? { query } : { query, key });
    else if (key >= 0) stage.moveTo({ key });
  };
  /** @param {number} key */
  const moveAlong = (key) => {
    const query = stage.focus()?.query ?? stage.scene().locked ?? 0;
    stage.moveTo({ query, key });
  };
  const lock = () => {
    const focus = stage.focus(), { locked } = stage.scene();
    if (!focus) stage.lock(locked ?? 0);
    else if (focus.query !== undefined) stage.lock(focus.query, focus.key);
  };
  /** @type {Record<string, () => void>} */
  const inMatrix = {
    ArrowUp: () => moveCell(-1, 0), ArrowDown: () => moveCell(1, 0),
    ArrowLeft: () => moveCell(0, -1), ArrowRight: () => moveCell(0, 1),
    Home: () => moveAlong(0), End: () => moveAlong(stage.scene().axes.keys.length - 1),
    Enter: lock, " ": lock,
  };

  /** @param {number} rows */
  const moveRow = (rows) => stage.choose(stage.scene().state.view === "grid"
    ? { layer: shownLayerAfter(rows) } : { head: headAfter(rows * stage.perRow()) });
  const openChosen = () => stage.open(stage.scene().state);
  /** @type {Record<string, () => void>} */
  const inOverview = {
    ArrowUp: () => moveRow(-1), ArrowDown: () => moveRow(1),
    ArrowLeft: () => stage.choose({ head: headAfter(-1) }), ArrowRight: () => stage.choose({ head: headAfter(1) }),
    Home: () => stage.choose({ head: 0 }), End: () => stage.choose({ head: headAfter(Infinity) }),
    Enter: openChosen, " ": openChosen,
  };

  /** @param {number} step @param {boolean} shift */
  const changeHead = (step, shift) =>
    stage.choose(shift ? { layer: layerAfter(step) } : { head: headAfter(step) });
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    /** @type {Record<string, () => void>} */
    const everywhere = {
      PageUp: () => changeHead(-1, event.shiftKey), PageDown: () => changeHead(1, event.shiftKey),
      Escape: () => { stage.moveTo(null); stage.choose({ query: null }); },
    };
    const here = isOverview(stage.scene().state.view) ? inOverview : inMatrix;
    const action = everywhere[event.key] ?? here[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  });
}

/**
 * Scroll a matrix that is larger than its box to the cell with the focus.
 *
 * @param {HTMLElement} scroller
 * @param {HeatmapLayout} layout
 * @param {number} query
 * @param {number} key
 */
export function scrollToCell(scroller, { left, top, w, h }, query, key) {
  const x = left + key * w, y = top + query * h;
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroller;
  if (x < scrollLeft + left) scroller.scrollLeft = x - left;
  if (x + w > scrollLeft + clientWidth) scroller.scrollLeft = x + w - clientWidth;
  if (y < scrollTop + top) scroller.scrollTop = y - top;
  if (y + h > scrollTop + clientHeight) scroller.scrollTop = y + h - clientHeight;
}
