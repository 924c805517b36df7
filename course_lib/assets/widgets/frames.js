// @ts-check
// Moves the controls of a stored figure: each state of theirs has a stored picture, of which only
// what differs from the first picture is kept.

/**
 * @typedef {{ label: string, stops: string[], start: number, kind: string }} Control
 * @typedef {{ changed: string, alt: string }} Frame
 * @typedef {{ controls: Control[], frames: Frame[], note: string }} Stored
 */

/**
 * The input of a control, and its label.
 * @param {Control} control
 * @param {() => void} moved
 */
function controlOf(control, moved) {
  const label = document.createElement("label");
  const input = document.createElement(control.kind === "list" ? "select" : "input");
  const output = document.createElement("output");
  const name = document.createElement("span");
  name.textContent = control.label;
  input.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys
  if (input instanceof HTMLSelectElement) {
    input.append(...control.stops.map((text, i) => new Option(text, String(i), false, i === control.start)));
  } else if (control.kind === "switch") {
    input.type = "checkbox";
    input.checked = control.start === 1;
  } else {
    Object.assign(input, { type: "range", min: 0, max: control.stops.length - 1, step: 1, value: control.start });
  }
  const position = () => (control.kind === "switch" && input instanceof HTMLInputElement
    ? Number(input.checked) : Number(input.value));
  const say = () => {
    if (control.kind !== "range") return;
    output.textContent = control.stops[position()];
    input.setAttribute("aria-valuetext", control.stops[position()]);
  };
  input.addEventListener("input", () => { say(); moved(); });
  say();
  label.append(...(control.kind === "switch" ? [input, name] : [name, input]));
  if (control.kind === "range") label.append(output);
  return { label, position };
}

/**
 * Put controls above a figure's picture.
 * @param {HTMLElement} figure
 */
function start(figure) {
  const paragraph = /** @type {HTMLElement} */ (figure.querySelector("[data-frames]"));
  /** @type {Stored} */
  const stored = JSON.parse(paragraph.dataset.frames || "");
  const picture = /** @type {HTMLImageElement} */ (figure.querySelector("img"));
  const caption = /** @type {HTMLElement} */ (figure.querySelector("figcaption"));
  const stack = document.createElement("div");
  const over = document.createElement("img");
  const show = () => {
    const index = controls.reduce((sum, control, i) => sum * stored.controls[i].stops.length + control.position(), 0);
    const frame = stored.frames[index];
    over.style.display = frame.changed ? "" : "none"; // the figure's own style is stronger than `hidden`
    if (frame.changed) over.src = frame.changed;
    picture.alt = frame.alt;
    caption.textContent = frame.alt;
    figure.dataset.state = String(index);
  };
  const controls = stored.controls.map((control) => controlOf(control, show));
  const row = document.createElement("div");
  row.className = "course-controls";
  row.append(...controls.map((control) => control.label));
  stack.className = "course-stack";
  over.alt = "";
  picture.replaceWith(stack);
  stack.append(picture, over);
  stack.before(row);
  caption.removeAttribute("aria-hidden");
  caption.setAttribute("aria-live", "polite");
  paragraph.textContent = stored.note;
  show();
}

/**
 * Start each copy of the figure once. The script may run before the figure is in the page, so it looks for
 * two seconds.
 *
 * @param {number} times
 */
function look(times) {
  // Python writes the figure's own name in place of NAME.
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("[data-figure=NAME]:not([data-found])"))) {
    figure.dataset.found = "";
    start(figure);
  }
  if (times) setTimeout(look, 50, times - 1);
}

look(40);
