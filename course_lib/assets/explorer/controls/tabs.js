// @ts-check
// Tabs for the kinds of attention of one model.

import { TABS } from "../constants.js";
import { make, uniqueName } from "./dom.js";

/** @import { Kind, State } from "../constants.js" */

/**
 * @param {Kind[]} kinds
 * @param {HTMLElement} panel what the tabs control
 * @param {(patch: Partial<State>) => void} choose
 */
export function makeTabs(kinds, panel, choose) {
  const id = uniqueName();
  const tabs = kinds.map((kind) => make("button", {
    type: "button", id: `${id}-${kind}`, textContent: TABS[kind], aria: { role: "tab", controls: `${id}-panel` },
  }));
  /** @type {Record<string, (i: number) => number>} */
  const moves = {
    ArrowLeft: (i) => (i + kinds.length - 1) % kinds.length, ArrowRight: (i) => (i + 1) % kinds.length,
    Home: () => 0, End: () => kinds.length - 1,
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => choose({ kind: kinds[i] }));
    tab.addEventListener("keydown", (event) => {
      const move = moves[event.key];
      if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      tabs[move(i)].focus();
      choose({ kind: kinds[move(i)] });
    });
  });
  panel.id = `${id}-panel`;
  panel.setAttribute("role", "tabpanel");
  return {
    root: make("div", { className: "ae-tabs", aria: { role: "tablist", label: "Attention of" } }, ...tabs),
    /** @param {State} state */
    sync(state) {
      tabs.forEach((tab, i) => {
        const shown = kinds[i] === state.kind;
        tab.setAttribute("aria-selected", String(shown));
        tab.tabIndex = shown ? 0 : -1;
        if (shown) panel.setAttribute("aria-labelledby", tab.id);
      });
    },
  };
}
