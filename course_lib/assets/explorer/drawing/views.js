// @ts-check
// The four ways to look at attention.

import { gridView, headsView } from "./heads.js";
import { heatmapView } from "./heatmap.js";
import { linesView } from "./lines.js";

/** @import { ViewName } from "../constants.js" */
/** @import { Focus, Scene } from "../scene.js" */

/**
 * A view in five parts. `frame`, `cells` and `over` have a canvas each, so that moving a slider redraws
 * the cells alone.
 *
 * @template {{ width: number, height: number }} Layout
 * @typedef {object} View
 * @property {(scene: Scene, width: number) => Layout} layout measures, in CSS pixels
 * @property {(ctx: CanvasRenderingContext2D, scene: Scene, layout: Layout) => void} frame draws what is the
 *   same for every head
 * @property {(ctx: CanvasRenderingContext2D, scene: Scene, layout: Layout) => void} cells draws what changes
 *   with the head
 * @property {(ctx: CanvasRenderingContext2D, scene: Scene, layout: Layout, focus: Focus | null) => void} over
 *   draws what changes with the pointer
 * @property {(layout: Layout, x: number, y: number) => Focus | null} hit finds what is at a point
 */

/** @type {Record<ViewName, View<any>>} */
export const VIEWS = { heatmap: heatmapView, lines: linesView, heads: headsView, grid: gridView };

/**
 * Whether a view shows several heads.
 *
 * @param {ViewName} view
 */
export const isOverview = (view) => view === "heads" || view === "grid";
