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

    const say = () => {
      output.textContent = model.get("text");
      input.setAttribute("aria-valuetext", model.get("text"));
    };
    const move = () => (input.value = model.get("position"));
    input.addEventListener(model.get("at_end") ? "change" : "input", () => {
      model.set("position", Number(input.value));
      model.save_changes();
    });
    model.on("change:text", say);
    model.on("change:position", move);
    for (const name of ["min", "max", "step"]) input[name] = model.get(name);
    move();
    say();
  },
};
