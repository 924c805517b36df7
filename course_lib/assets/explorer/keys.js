// @ts-check
// The keyboard: whatever a pointer can do on the stage can be done with keys.

import { MEAN } from "./constants.js";
import { isOverview } from "./views.js";

/** @import { State } from "./constants.js" */
/** @import { Group } from "./data.js" */
/** @import { HeatmapLayout } from "./heatmap.js" */
/** @import { Focus, Scene } from "./scene.js" */

/**
 * What keys can ask for.
 *
 * @typedef {object} Stage
 * @property {() => Scene} scene
 * @property {() => Focus | null} focus
 * @property {() => number} perRow thumbnails in a row
 * @property {(focus: Focus | null) => void} moveTo
 * @property {(patch: Partial<State>) => void} choose
 * @property {(query: number) => void} lock
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
    const { attention: { nHeads }, state } = stage.scene();
    const position = state.head === MEAN ? nHeads : state.head;
    const next = Math.max(0, Math.min(nHeads > 1 ? nHeads : 0, position + step));
    return next === nHeads ? MEAN : next;
  };
  /** @param {number} step */
  const layerAfter = (step) => stage.scene().state.layer + step;

  /** @param {number} rows @param {number} columns */
  const moveCell = (rows, columns) => {
    const { axes, locked } = stage.scene(), focus = stage.focus();
    /** @param {number} index @param {Group[]} groups */
    const within = (index, groups) => Math.max(0, Math.min(groups.length - 1, index));
    // The first key shows the current cell, those after it move.
    const [down, right] = focus ? [rows, columns] : [0, 0];
    stage.moveTo({
      query: within((focus?.query ?? locked ?? 0) + down, axes.queries),
      key: within((focus?.key ?? 0) + right, axes.keys),
    });
  };
  const lockRow = () => stage.lock(stage.focus()?.query ?? stage.scene().locked ?? 0);
  /** @type {Record<string, () => void>} */
  const inMatrix = {
    ArrowUp: () => moveCell(-1, 0), ArrowDown: () => moveCell(1, 0),
    ArrowLeft: () => moveCell(0, -1), ArrowRight: () => moveCell(0, 1),
    Home: () => moveCell(0, -Infinity), End: () => moveCell(0, Infinity),
    Enter: lockRow, " ": lockRow,
  };

  /** @param {number} rows */
  const moveRow = (rows) => stage.choose(stage.scene().state.view === "grid"
    ? { layer: layerAfter(rows) } : { head: headAfter(rows * stage.perRow()) });
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
export function scrollToCell(scroller, { left, top, cell }, query, key) {
  const x = left + key * cell, y = top + query * cell;
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = scroller;
  if (x < scrollLeft + left) scroller.scrollLeft = x - left;
  if (x + cell > scrollLeft + clientWidth) scroller.scrollLeft = x + cell - clientWidth;
  if (y < scrollTop + top) scroller.scrollTop = y - top;
  if (y + cell > scrollTop + clientHeight) scroller.scrollTop = y + cell - clientHeight;
}
