// @ts-check
// A slider with a label and a readout. It is the browser's own, so that screen readers know its name and
// the keyboard moves it. It holds a number, or the index of an option.

/** @import { Model } from "../anywidget.js" */

export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  render({ model, el }) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const output = document.createElement("output");
    label.style.cssText = "display:flex;align-items:center;gap:.5em;margin:2px";
    output.style.cssText = "min-width:4em";
    input.type = "range";
    input.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys
    label.append(model.get("description"), input, output);
    el.append(label);

    const showText = () => {
      output.textContent = model.get("text");
      input.setAttribute("aria-valuetext", model.get("text"));
    };
    const move = () => { input.value = model.get("position"); };
    if (!model.get("at_end")) input.dataset.everyStep = ""; // unanswered.js asks
    input.addEventListener(model.get("at_end") ? "change" : "input", () => {
      model.set("position", Number(input.value));
      model.save_changes();
    });
    model.on("change:text", showText);
    model.on("change:position", move);
    input.min = model.get("min");
    input.max = model.get("max");
    input.step = model.get("step");
    move();
    showText();
  },
};
