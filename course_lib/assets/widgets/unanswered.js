// @ts-check
// Says so if Python does not answer a control: its kernel may have been stopped or restarted, and then the
// controls of a widget are still there, but nothing moves.

/** @import { Model } from "../anywidget.js" */

const PATIENCE = 3000; // milliseconds; a slow drawing takes longer, and its answer removes the words
const WORDS = "No answer from Python yet. If none comes, its kernel was stopped or restarted: run this cell again.";

export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  render({ model, el }) {
    el.setAttribute("role", "status");
    let timer = 0;
    const answered = () => {
      clearTimeout(timer);
      el.textContent = "";
    };
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { el.textContent = WORDS; }, PATIENCE);
    };
    /** @param {Event} event */
    const asked = (event) => {
      const { target } = event;
      if (!(target instanceof Element) || !el.closest(".widget-vbox")?.contains(target)) return;
      if (event.type === "change" || target.closest("button")) wait();
    };
    for (const type of ["change", "click"]) document.addEventListener(type, asked);
    model.on("change:answers", answered);
    return () => {
      clearTimeout(timer);
      for (const type of ["change", "click"]) document.removeEventListener(type, asked);
    };
  },
};
