// @ts-check
// Brings a stored drawing to life: its images become part of the page, and a film gets controls.

/**
 * The picture at an address, to be put into the page. Inline it follows forced colours and the
 * page's theme, and its words can be selected.
 * @param {string} address
 */
function read(address) {
  const source = decodeURIComponent(address.slice(address.indexOf(",") + 1));
  const svg = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
  svg.querySelector("style")?.remove(); // the page has it already
  return svg;
}

/**
 * Put the picture of an image in its place: where there is one for wide pages as well, both.
 * @param {HTMLImageElement} image
 */
function inline(image) {
  const svg = read(image.src);
  const picture = image.closest("picture");
  const wide = picture?.querySelector("source");
  const broad = wide && read(wide.srcset);
  if ([svg, broad].some((each) => each && each.tagName !== "svg")) return; // the image stays
  if (picture && broad) {
    svg.classList.add("narrow");
    broad.classList.add("broad");
    picture.replaceWith(broad, svg);
  } else image.replaceWith(svg);
}

/**
 * Put a slider and a button below the frames of a film, or below panels that build up: those hold
 * marks that are there from one state to another.
 * @param {HTMLElement} film
 */
function direct(film) {
  const frames = /** @type {HTMLElement[]} */ ([...film.querySelectorAll(".dw-frame")]);
  const marks = /** @type {NodeListOf<SVGElement>} */ (film.querySelectorAll("[data-from]"));
  /** @type {string[]} */
  const says = film.dataset.says
    ? JSON.parse(film.dataset.says)
    : frames.map((frame) => frame.querySelector("p")?.textContent ?? "");
  const last = says.length - 1;
  const slider = Object.assign(document.createElement("input"), {
    type: "range", min: "0", max: String(last), value: film.dataset.start,
  });
  slider.setAttribute("aria-label", film.dataset.name ?? "");
  slider.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "▶ Play" });
  const sentence = document.createElement("output");
  let timer = 0;

  const show = (/** @type {number} */ at) => {
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", says[at]);
    sentence.textContent = says[at];
    frames.forEach((frame, i) => { frame.hidden = i !== at; });
    marks.forEach(({ classList, dataset: { from, to } }) => {
      classList.toggle("off", at < Number(from) || at > Number(to ?? last));
    });
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    button.textContent = "▶ Play";
  };
  const next = () => {
    if (!film.isConnected) return stop(); // the cell was cleared
    show(Number(slider.value) + 1);
    if (Number(slider.value) === last) stop();
  };
  slider.addEventListener("input", () => {
    film.classList.add("moved");
    stop();
    show(Number(slider.value));
  });
  button.addEventListener("click", () => {
    film.classList.add("moved");
    if (timer) return stop();
    if (Number(slider.value) === last) show(0);
    button.textContent = "❚❚ Pause";
    timer = window.setInterval(next, Number(film.dataset.milliseconds));
  });
  const bar = document.createElement("div");
  bar.className = "dw-bar";
  bar.append(button, slider, sentence);
  film.querySelector(".dw-frames")?.after(bar);
  film.classList.add("dw-live");
  show(Number(film.dataset.start));
}

/** @param {HTMLElement} element */
export function mount(element) {
  element.querySelectorAll("img").forEach((image) => {
    if (image.matches(".dw-still")) inline(image);
  });
  element.querySelectorAll(".dw-film").forEach((film) => direct(/** @type {HTMLElement} */ (film)));
}
