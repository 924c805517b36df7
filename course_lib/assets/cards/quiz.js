// @ts-check
// Brings a stored question to life: its answers become buttons, or a box to type a shape into.

import { hintFor, parseShape, written } from "./shape.js";

const MARKS = { right: "✓", wrong: "✗" };
const LETTERS = "abcdefgh";
const NO_SHAPE = "A shape is whole numbers separated by commas, such as (2, 3)";

/**
 * @param {string} tag
 * @param {Record<string, unknown>} properties
 * @param {(Node | string)[]} children
 */
function make(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/**
 * The card that says whether an answer is right: it is there before, so that its words are announced.
 * @param {HTMLElement} question
 */
function cardOf(question) {
  const folded = /** @type {HTMLElement} */ (question.querySelector("details"));
  const home = /** @type {HTMLElement} */ (folded.querySelector("p"));
  const why = /** @type {HTMLElement} */ (home.querySelector(".course-why"));
  const card = make("div", { className: "course-finding" });
  card.setAttribute("role", "status");
  folded.before(card);
  return {
    card,
    folded,
    /** @param {"right" | "wrong"} verdict @param {string} sentence @param {string} [more] */
    show(verdict, sentence, more) {
      home.append(why); // moved and not copied: its formulas may be typeset later
      card.dataset.verdict = verdict;
      const first = make("span", { className: "course-verdict" }, `${MARKS[verdict]} ${sentence}`);
      card.replaceChildren(make("p", {}, first, more ? ` ${more}` : ""));
      question.dataset.state = String(Number(question.dataset.state) + 1);
      if (verdict === "right") card.append(make("p", {}, why));
      folded.hidden = verdict === "right";
    },
  };
}

/**
 * @param {HTMLElement} question
 * @param {HTMLElement} list of the answers
 */
function letChoose(question, list) {
  const right = Number(question.dataset.right);
  const { folded, show } = cardOf(question);
  const options = [...list.children].map((item, index) => {
    const option = make("button", { type: "button", className: "course-option" }, ...item.childNodes);
    const letter = option.querySelector("b");
    if (letter) letter.textContent = LETTERS[index]; // in the list, "a)"
    option.setAttribute("aria-pressed", "false");
    option.addEventListener("click", () => choose(index));
    return option;
  });
  const mark = (/** @type {number} */ index, /** @type {"right" | "wrong"} */ verdict) => {
    const option = options[index];
    if (option.dataset.verdict) return;
    option.dataset.verdict = verdict;
    const word = verdict === "right" ? "right" : "not right";
    option.append(" ", make("span", { className: "course-verdict" }, `${MARKS[verdict]} ${word}`));
  };
  const choose = (/** @type {number} */ index) => {
    const verdict = index === right ? "right" : "wrong";
    options.forEach((option, i) => option.setAttribute("aria-pressed", String(i === index)));
    mark(index, verdict);
    if (verdict === "right") show(verdict, `${LETTERS[index]}) is right.`);
    else show(verdict, `${LETTERS[index]}) is not right.`, "Try again.");
  };
  // Not when it is opened to be printed.
  folded.querySelector("summary")?.addEventListener("click", () => mark(right, "right"));
  const group = make("div", { className: "course-options" }, ...options);
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", "Answers");
  list.replaceWith(group);
}

/** @param {HTMLElement} question */
function letType(question) {
  const right = (question.dataset.shape ?? "").split(",").filter(Boolean).map(Number);
  const { card, show } = cardOf(question);
  const input = /** @type {HTMLInputElement} */ (make("input", {
    type: "text", placeholder: "(2, 3)", autocomplete: "off", spellcheck: false,
  }));
  const check = /** @type {HTMLButtonElement} */ (make("button", { type: "button", disabled: true }, "Check"));
  const answer = () => {
    input.focus(); // the button can't keep the focus
    check.disabled = true; // until there is something new to check
    const given = parseShape(input.value);
    const hint = given && hintFor(given, right);
    if (!given) {
      show("wrong", "This is not a shape.",
        `${NO_SHAPE}, got '${input.value}': is there a letter or an extra bracket?`);
    } else if (hint) show("wrong", `${written(given)} is not right:`, `${hint}.`);
    else show("right", `${written(given)} is right.`);
  };
  input.addEventListener("input", () => { check.disabled = !input.value.trim(); });
  // Not a form: JupyterLab keeps the Enter key from submitting one.
  input.addEventListener("keydown", ({ key }) => { if (key === "Enter" && !check.disabled) answer(); });
  check.addEventListener("click", answer);
  const row = make("div", { className: "course-shape" }, make("label", {}, "shape", input), check);
  card.before(row);
}

/**
 * @param {HTMLElement} element
 * @param {{style: string}} code
 */
export function mount(element, { style }) {
  element.prepend(make("style", { textContent: style }));
  const question = /** @type {HTMLElement} */ (element.querySelector(".course-question"));
  question.addEventListener("focusin", ({ target }) => { // JupyterLab would take its keys
    if (target instanceof HTMLElement) target.dataset.lmSuppressShortcuts = "true";
  });
  const list = /** @type {HTMLElement | null} */ (question.querySelector("ul"));
  if (list) letChoose(question, list);
  else letType(question);
  question.dataset.state = "0"; // how many answers were given: each is announced, the same one, too
}
