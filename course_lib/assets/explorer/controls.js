// Everything around the picture: what is chosen above it, what is read beside and below it.

const VIEW_NAMES = { heatmap: "Heatmap", lines: "Lines", heads: "Heads", grid: "All layers" };
const STEP_LABELS = { scores: "query · key", scaled: "÷ √d", masked: "mask", weights: "softmax" };
let instances = 0; // radio buttons of one name belong together, across the whole page

function make(tag, properties = {}, ...children) {
  const { dataset = {}, aria = {}, ...rest } = properties;
  const node = Object.assign(document.createElement(tag), rest);
  Object.assign(node.dataset, dataset);
  for (const [name, value] of Object.entries(aria)) node.setAttribute(name === "role" ? name : `aria-${name}`, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

// JupyterLab would take arrow keys and letters for its own shortcuts.
const keepKeys = (root) => {
  for (const node of root.querySelectorAll("input, select, button, summary, [tabindex]"))
    node.dataset.lmSuppressShortcuts = "true";
};

function makeControls(a, { choose, savePng, saveHtml }) {
  const inputs = {}, group = ++instances;

  const segments = (name, legend, labels) => make("fieldset", { className: "ae-segments" },
    make("legend", { textContent: legend }),
    ...Object.entries(labels).map(([value, text]) => {
      const input = make("input", { type: "radio", name: `ae-${name}-${group}`, value });
      input.addEventListener("change", () => choose({ [name]: value }));
      (inputs[name] ??= {})[value] = input;
      return make("label", {}, input, make("span", { textContent: text }));
    }));

  const slider = (name, count) => {
    if (count < 2) return null;
    const input = make("input", { type: "range", min: 0, max: count - 1, step: 1, className: `ae-${name}` });
    const output = make("output", { className: "ae-number" });
    input.addEventListener("input", () => choose({ [name]: +input.value }));
    inputs[name] = { input, output };
    return make("label", { className: "ae-slider" }, make("span", { textContent: name }), input, output);
  };

  const check = (name, text, wanted, read, patch) => {
    if (!wanted) return null;
    const input = make("input", { type: "checkbox", className: `ae-${name}` });
    input.addEventListener("change", () => choose(patch(input.checked)));
    inputs[name] = { input, read };
    return make("label", { className: "ae-check" }, input, make("span", { textContent: text }));
  };
  const flag = (name, text, wanted) => check(name, text, wanted, (s) => s[name], (on) => ({ [name]: on }));

  const palette = make("select", { className: "ae-palette" },
    ...Object.keys(PALETTES).map((name) => make("option", { value: name, textContent: name })));
  palette.addEventListener("change", () => choose({ palette: palette.value }));
  const button = (text, click) => {
    const node = make("button", { type: "button", textContent: text });
    node.addEventListener("click", click);
    return node;
  };

  let lastHead = 0; // where "mean of heads" leads back to
  const buttons = make("span", { className: "ae-buttons" }, button("Save PNG", savePng), button("Save HTML", saveHtml));
  const root = make("div", { className: "ae-controls" },
    segments("view", "View", VIEW_NAMES),
    a.scores ? segments("step", "Step", STEP_LABELS) : null,
    make("span", { className: "ae-sliders" }, slider("layer", a.nLayers), slider("head", a.nHeads)),
    check("mean", "mean of heads", a.nHeads > 1, (s) => s.head === MEAN, (on) => ({ head: on ? MEAN : lastHead })),
    flag("joined", "join pieces of words", a.hasPieces),
    flag("gold", "gold alignment", a.gold.length > 0),
    flag("stretch", "stretch colours", true),
    make("label", { className: "ae-check" }, make("span", { textContent: "colours" }), palette));

  const sync = (state) => {
    if (state.head !== MEAN) lastHead = state.head;
    for (const [view, input] of Object.entries(inputs.view)) input.checked = view === state.view;
    for (const [step, input] of Object.entries(inputs.step ?? {})) {
      input.checked = step === state.step;
      input.disabled = state.joined && step !== "weights"; // pieces have scores, words have none
    }
    for (const name of ["layer", "head"]) {
      if (!inputs[name]) continue;
      const { input, output } = inputs[name], isMean = state[name] === MEAN;
      input.value = isMean ? lastHead : state[name];
      output.value = isMean ? "mean" : state[name];
      input.setAttribute("aria-valuetext", `${name} ${output.value}`);
    }
    for (const name of ["mean", "joined", "gold", "stretch"])
      if (inputs[name]) inputs[name].input.checked = inputs[name].read(state);
    palette.value = state.palette;
  };
  return { root, buttons, sync };
}
