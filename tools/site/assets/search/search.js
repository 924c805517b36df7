// @ts-check
// The site's search: sections of pages, ranked, of which any word may be missing.

import MiniSearch from "minisearch";
import { stemmer } from "stemmer";

/**
 * @typedef {{id: number, heading: string, page: string, asked: string, text: string,
 *   url: string, kind: string, weight: number}} Section
 */

const MOST = 30; // results
const EXCERPT = 220; // letters
// Words that people type in a question and that are on every page.
const COMMON = new Set(
  "a an and are as at be but by can do does for from get has have how i if in into is it its my of on or should so than that the their them then there they this to use used using was we what when where which who why will with would you your".split(" "),
);

/** @param {string} term */
const processTerm = (term) => {
  const word = term.toLowerCase();
  const american = word.replace(/is(e[drs]?|ing|ation)$/, "iz$1"); // normalise, normalize
  return COMMON.has(word) ? null : stemmer(american);
};

// Words that say little here, because all pages are about them.
const FAINT = new Set(["code", "explain", "model", "pytorch", "transformer", "work"].map((word) => stemmer(word)));
const SHORT = 3; // words of a query of which all are expected

/** @param {Section[]} sections */
export const makeIndex = (sections) => {
  const index = new MiniSearch({
    fields: ["heading", "asked", "text", "page"],
    storeFields: ["weight"],
    processTerm,
    searchOptions: {
      boost: { heading: 4, asked: 4, page: 2 },
      boostDocument: (_id, _term, stored) => Number(stored?.weight ?? 1),
      boostTerm: (term) => (FAINT.has(term) ? 0.3 : 1),
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
      prefix: (term) => term.length > 3,
      weights: { fuzzy: 0.3, prefix: 0.4 },
    },
  });
  index.addAll(sections);
  return index;
};

/**
 * @param {Section[]} sections
 * @param {string} query
 * @param {MiniSearch} [index]
 */
export const find = (sections, query, index = makeIndex(sections)) => {
  // Of a few words, what has all of them comes first, as people expect. In a whole question some
  // words are the asker's own, and a long section that happens to have them all would come first.
  const words = query.split(/\s+/).filter(processTerm);
  const all = words.length > SHORT ? [] : index.search(query, { combineWith: "AND" });
  const first = new Set(all.map((result) => result.id));
  const any = index.search(query).filter((result) => !first.has(result.id));
  return [...all, ...any].slice(0, MOST).map((result) => ({ ...sections[result.id], terms: result.terms }));
};

/**
 * The part of a text around its first word that was looked for.
 * @param {string} text
 * @param {string[]} terms stems
 */
export const excerpt = (text, terms) => {
  const words = [...text.matchAll(/[\p{L}\p{N}]+/gu)];
  const hit = words.find((word) => terms.includes(processTerm(word[0]) ?? ""));
  const start = Math.max(0, (hit?.index ?? 0) - EXCERPT / 3);
  const from = start && text.indexOf(" ", start) + 1;
  const part = text.slice(from, from + EXCERPT);
  return `${from ? "… " : ""}${part}${from + EXCERPT < text.length ? " …" : ""}`;
};

/**
 * @param {HTMLElement} list
 * @param {Section[]} sections
 */
const start = (list, sections) => {
  const field = /** @type {HTMLInputElement} */ (document.querySelector("#search-field"));
  const status = /** @type {HTMLElement} */ (document.querySelector("#search-status"));
  const index = makeIndex(sections);
  const show = () => {
    const query = field.value.trim();
    const found = query ? find(sections, query, index) : [];
    list.replaceChildren(
      ...found.map((section) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = section.url;
        link.textContent = section.heading;
        const where = document.createElement("span");
        where.className = "search-where";
        where.textContent = section.page ? `${section.kind} · ${section.page}` : section.kind;
        const text = document.createElement("p");
        text.textContent = excerpt(section.text, section.terms);
        item.append(link, where, text);
        return item;
      }),
    );
    status.textContent = query ? (found.length ? "" : `Nothing has any word of “${query}”. Try the field's own term, or another word for it.`) : "";
    const address = new URL(location.href);
    address.searchParams.set("q", query);
    history.replaceState(null, "", address);
  };
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  field.addEventListener("input", show);
  field.form?.addEventListener("submit", (event) => event.preventDefault());
  show();
  field.focus();
};

if (typeof document !== "undefined") {
  const list = document.querySelector("#search-list");
  const sections = /** @type {{searchSections?: Section[]}} */ (globalThis).searchSections;
  if (list instanceof HTMLElement && sections) start(list, sections);
}
