// @ts-check
// Three canvases on top of each other, each redrawn only when something that it shows has changed.

import { clearCanvas, contextOf, resizeCanvas } from "./canvas.js";
import { VIEWS } from "./views.js";

/** @import { Elements } from "../controls/elements.js" */
/** @import { Focus, Scene } from "../scene.js" */

/** @param {Elements} elements */
export function makeStage({ canvases, stage, scroller }) {
  /** @type {any} */
  let layout = null; // whatever the view's own `layout` returned
  /** @type {{ frame?: string, cells?: string }} */
  let drawn = {};

  /** @param {Scene} scene @param {Focus | null} focus */
  function drawOver(scene, focus) {
    const ctx = contextOf(canvases.over);
    clearCanvas(ctx);
    VIEWS[scene.state.view].over(ctx, scene, layout, focus);
  }

  /**
   * @param {Scene} scene
   * @param {Focus | null} focus
   * @returns {boolean} whether there was room to draw
   */
  function draw(scene, focus) {
    const width = Math.floor(scroller.clientWidth) - 6; // its padding
    if (width < 1) return false; // not in the page yet, or hidden
    const { state, theme } = scene, view = VIEWS[state.view];
    const frame = [state.kind, state.view, width, state.joined, state.sentences, state.layers, theme.back,
      self.devicePixelRatio].join();
    if (drawn.frame !== frame) {
      layout = view.layout(scene, width);
      stage.style.width = `${layout.width}px`;
      stage.style.height = `${layout.height}px`;
      for (const canvas of Object.values(canvases)) resizeCanvas(canvas, layout.width, layout.height);
      view.frame(contextOf(canvases.frame), scene, layout);
      drawn = { frame };
    }
    const chosen = state.view === "grid" ? "" : `${state.layer} ${state.head} ${state.heads}`;
    const cells = [chosen, state.step, state.palette, state.stretch, state.gold].join();
    if (drawn.cells !== cells) {
      const ctx = contextOf(canvases.cells);
      clearCanvas(ctx);
      view.cells(ctx, scene, layout);
      drawn.cells = cells;
    }
    drawOver(scene, focus);
    return true;
  }

  return { draw, drawOver, layout: () => layout };
}
