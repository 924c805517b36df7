// A slider with its name and its value, built on the browser's own: it has a name for screen
// readers, answers to keys, and holds numbers, or one of a list of options.
export default {
  render({ model, el }) {
    const label = document.createElement("label");
    const input = document.createElement("input");
    const output = document.createElement("output");
    label.style.cssText = "display:inline-flex;align-items:center;gap:.5em;margin:2px .8em 2px 0";
    output.style.cssText = "min-width:4em";
    input.type = "range";
    input.dataset.lmSuppressShortcuts = "true"; // JupyterLab would swallow the arrow keys
    label.append(model.get("description"), input, output);
    el.append(label);

    const show = () => {
      for (const name of ["min", "max", "step"]) input[name] = model.get(name);
      input.value = model.get("place");
      output.textContent = model.get("text");
      input.setAttribute("aria-valuetext", model.get("text"));
    };
    input.addEventListener(model.get("at_end") ? "change" : "input", () => {
      model.set("place", Number(input.value));
      model.save_changes();
    });
    model.on("change:text", () => {
      output.textContent = model.get("text");
      input.setAttribute("aria-valuetext", model.get("text"));
    });
    model.on("change:place", () => {
      if (Number(input.value) !== model.get("place")) input.value = model.get("place");
    });
    show();
  },
};
