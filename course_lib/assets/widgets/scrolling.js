// @ts-check
// What a page cuts off at its side can be scrolled with the arrow keys, too: it becomes a stop of the Tab key.

const INSIDE = "a[href]:not(.anchor-link), button, input, select, textarea, summary, [tabindex]";

function findCut() {
  for (const part of document.querySelectorAll(":is(main, [role=main]) :is(div, p, pre, figure, table, .formula)")) {
    if (!(part instanceof HTMLElement) || part.closest("[data-live]") || part.parentElement?.closest("figure")) continue;
    const cut = part.scrollWidth > part.clientWidth && /auto|scroll/.test(getComputedStyle(part).overflowX);
    if (part.dataset.cut && !cut) {
      for (const name of ["tabindex", "role", "aria-label", "data-cut"]) part.removeAttribute(name);
    } else if (cut && !part.querySelector(INSIDE)) {
      part.tabIndex = 0;
      part.dataset.cut = "true";
      part.setAttribute("role", "group");
      part.setAttribute("aria-label", part.matches(".formula") ? "formula, can be scrolled" : "can be scrolled");
    }
  }
}
findCut();
window.addEventListener("resize", findCut);
document.addEventListener("toggle", findCut, true); // a folded part was opened
