// The explorer itself: a state, three canvases on top of each other, and what the pointer does.

function build(a, controls) {
  const canvas = (part) => make("canvas", { className: `ae-${part}`, aria: { hidden: true } });
  const canvases = ["frame", "cells", "over"].map(canvas);
  const parts = {
    canvases,
    title: make("div", { className: "ae-title" }),
    stage: make("div", { className: "ae-stage", tabIndex: 0, aria: { role: "application" } }, ...canvases),
    panel: make("div", { className: "ae-panel" }),
    legend: make("div", { className: "ae-legend" }),
    table: make("table"),
    status: make("div", { className: "ae-status", aria: { role: "status" } }),
  };
  parts.scroller = make("div", { className: "ae-scroll" }, parts.stage);
  parts.details = make("details", {}, make("summary", { textContent: "The same as a table" }), parts.table);
  parts.root = make("section", { className: "ae", aria: { label: a.title } },
    make("div", { className: "ae-top" }, parts.title, controls.buttons),
    controls.root,
    make("div", { className: "ae-main" }, parts.scroller, parts.panel),
    parts.legend, parts.details, parts.status);
  keepKeys(parts.root);
  return parts;
}

function start(el, { a, state: first, packed, module, style, changed }) {
  const state = { ...first }, sceneFor = sceneMaker(a);
  let focus = null, layout = null, theme = null, drawn = {};
  const scene = () => sceneFor(state, theme);
  const controls = makeControls(a, { choose, savePng, saveHtml });
  const { root, title, canvases, stage, scroller, panel, legend, table, details, status } = build(a, controls);
  const say = (text) => { status.textContent = text; };

  // Three layers, each drawn only when something that it shows has changed.
  function draw() {
    const width = Math.floor(scroller.clientWidth) - 6; // its padding
    if (width < 1) return; // not in the page yet, or hidden: the observer calls again
    const now = scene(), view = VIEWS[state.view];
    const frame = [state.view, width, state.joined, theme, self.devicePixelRatio].join();
    if (drawn.frame !== frame) {
      layout = view.layout(now, width);
      stage.style.width = `${layout.width}px`;
      stage.style.height = `${layout.height}px`;
      const [ctx] = canvases.map((canvas) => resize(canvas, layout.width, layout.height));
      view.frame(ctx, now, layout);
      drawn = { frame };
    }
    const chosen = state.view === "grid" ? "" : `${state.layer} ${state.head}`;
    const cells = [chosen, state.step, state.palette, state.stretch, state.gold].join();
    if (drawn.cells !== cells) {
      const ctx = canvases[1].getContext("2d");
      clear(ctx);
      view.cells(ctx, now, layout);
      drawn.cells = cells;
    }
    drawOver(now);
    title.textContent = titleOf(now);
    stage.setAttribute("aria-label", stageLabel(now));
    fillLegend(legend, now);
    controls.sync(state);
    if (details.open) fillTable(table, now);
    root.dataset.geometry = JSON.stringify(layout);
    root.dataset.state = JSON.stringify(state); // says that all of it is drawn
  }

  function drawOver(now) {
    const ctx = canvases[2].getContext("2d");
    clear(ctx);
    VIEWS[state.view].over(ctx, now, layout, focus);
    fillPanel(panel, now, focus, () => choose({ query: null }));
    root.dataset.focus = focus ? JSON.stringify(focus) : "";
  }

  function retheme() {
    const around = themeAround(el);
    if (around === theme) return;
    theme = around;
    root.dataset.theme = around;
    draw();
  }

  function show(patch) {
    const before = JSON.stringify(state), { view, joined } = state;
    Object.assign(state, patch);
    tidy(state, a);
    if (JSON.stringify(state) === before) {
      controls.sync(state); // a tick that could not be set is taken back
      return false;
    }
    // A place in one view, or among the pieces of words, is none in another.
    if (state.view !== view || state.joined !== joined) focus = null;
    draw();
    return true;
  }

  function choose(patch) {
    if (!show(patch)) return;
    changed({ ...state });
    const { m, axes, locked, summary } = scene();
    say(locked !== null && "query" in patch ? `Locked. ${rowText(m, axes, locked)}`
      : `${title.textContent}: ${headText(summary(state.layer, state.head), m.columns)}`);
  }

  function lock(query) {
    const tokens = scene().axes.queries[query].members;
    choose({ query: tokens.includes(state.query) ? null : tokens[0] });
  }

  const open = ({ layer, head }) => choose({ layer, head, view: "heatmap" });

  function moveTo(place) {
    focus = place;
    const now = scene();
    drawOver(now);
    if (!place) return;
    say(focusText(now, place));
    if (state.view === "heatmap") keepInSight(scroller, layout, place);
  }

  const at = (event) => {
    const box = stage.getBoundingClientRect();
    return VIEWS[state.view].hit(layout, event.clientX - box.left, event.clientY - box.top);
  };
  stage.addEventListener("pointermove", (event) => {
    const found = at(event);
    stage.style.cursor = found ? "pointer" : "default";
    if (JSON.stringify(found) === JSON.stringify(focus)) return;
    focus = found;
    drawOver(scene());
  });
  stage.addEventListener("pointerleave", () => { focus = null; drawOver(scene()); });
  stage.addEventListener("click", (event) => {
    focus = at(event);
    if (focus && isOverview(state.view)) open(focus);
    else if (focus?.query !== undefined) lock(focus.query);
    else drawOver(scene());
  });
  listenToKeys(stage, { scene, focus: () => focus, moveTo, choose, lock, open, across: () => layout.across });

  async function savePng() {
    download(await composePng(canvases, title.textContent, scene()), `${fileName(title.textContent)}.png`);
    say("The picture is saved.");
  }

  function saveHtml() {
    const text = standAlone({ module, style, data: packed, state, title: a.title });
    download(new Blob([text], { type: "text/html" }), `${fileName(a.title)}.html`);
    say("The explorer is saved as an HTML file.");
  }

  tidy(state, a);
  details.addEventListener("toggle", () => { if (details.open) fillTable(table, scene()); });
  el.replaceChildren(make("style", { textContent: style }), root);
  retheme();
  const sizes = new ResizeObserver(draw);
  sizes.observe(scroller);
  const unwatch = onThemeChange(retheme);
  return { show, stop: () => { sizes.disconnect(); unwatch(); } };
}

// In a page: a picture's place becomes the explorer.
export async function mount(el, { module, style, state, data }) {
  return start(el, { a: await unpack(data), state, packed: data, module, style, changed: () => {} });
}

// In a live notebook: anywidget keeps the state here and the state in Python the same.
export default {
  async render({ model, el }) {
    const view = model.get("data"), packed = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    const explorer = start(el, {
      a: await unpack(packed), state: model.get("state"), packed,
      module: model.get("_esm"), style: model.get("_css"),
      changed: (state) => { model.set("state", state); model.save_changes(); },
    });
    const follow = () => explorer.show(model.get("state"));
    model.on("change:state", follow);
    return () => { model.off("change:state", follow); explorer.stop(); };
  },
};
