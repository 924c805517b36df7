// @ts-check
// Watches the controls of the box that it is in. It says so if Python does not answer one: its kernel may have been
// stopped or restarted, and then the controls are still there, but nothing moves. And it keeps their keys from
// JupyterLab, which would take the arrow keys of a dropdown to go to another cell.

/** @import { Model } from "../anywidget.js" */

const PATIENCE = 3000; // milliseconds; a slow drawing takes longer, and its answer removes the words
const EVENTS = ["input", "change", "click", "focusin"];
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
      if (!(target instanceof HTMLElement) || !el.closest(".widget-vbox")?.contains(target)) return;
      target.dataset.lmSuppressShortcuts = "true";
      // Some sliders tell Python of every step: letting go of one tells it nothing new.
      const telling = "everyStep" in target.dataset ? "input" : "change";
      if (event.type === telling || (event.type === "click" && target.closest("button"))) wait();
    };
    for (const type of EVENTS) document.addEventListener(type, asked);
    model.on("change:answers", answered);
    return () => {
      clearTimeout(timer);
      for (const type of EVENTS) document.removeEventListener(type, asked);
    };
  },
};
