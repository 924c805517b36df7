// @ts-check
// A picture with its alt text, both replaced whenever Python redraws.

/** @import { Model } from "../anywidget.js" */

export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  render({ model, el }) {
    const image = document.createElement("img");
    el.classList.add("course-figure");
    el.append(image);
    let width = 0, height = 0; // the tallest so far: what is below does not jump with each redraw
    image.addEventListener("load", () => {
      if (width !== el.clientWidth) height = 0;
      width = el.clientWidth;
      height = Math.max(height, image.offsetHeight);
      el.style.minHeight = `${height}px`;
    });
    const show = () => {
      const before = image.src;
      image.src = URL.createObjectURL(new Blob([model.get("value")], { type: "image/png" }));
      image.alt = model.get("alt");
      if (before) URL.revokeObjectURL(before);
    };
    model.on("change:value", show);
    model.on("change:alt", () => { image.alt = model.get("alt"); });
    show();
  },
};
