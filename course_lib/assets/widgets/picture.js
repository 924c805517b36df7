// @ts-check
// A picture with its alt text, both replaced whenever Python redraws.

/** @import { Model } from "../anywidget.js" */

export default {
  /** @param {{ model: Model, el: HTMLElement }} given */
  render({ model, el }) {
    const image = document.createElement("img");
    image.style.maxWidth = "100%"; // shrunk on narrow screens, never stretched on wide ones
    el.append(image);
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
