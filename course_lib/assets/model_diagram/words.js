// @ts-check
// What the diagram says about a step.

/** @import { Diagram, Step } from "./diagram.js" */

/**
 * Which step it is and what comes next.
 *
 * @param {Pick<Diagram, "steps">} diagram
 * @param {number} step
 */
export function headline({ steps }, step) {
  const [word, probability] = steps[step].top[0];
  const next = word === "<eos>" ? "Next: <eos>, the end" : `Next word: ${word}`;
  return `Step ${step + 1} of ${steps.length}. ${next} (${probability.toFixed(2)}).`;
}

/**
 * What is written before a step.
 *
 * @param {Pick<Diagram, "target">} diagram
 * @param {number} step
 */
export function writtenText({ target }, step) {
  return step ? `Written so far: ${target.slice(1, step + 1).join(" ")}.` : "Nothing is written yet.";
}

/**
 * The source words that are attended to most in a step: as many as make up four fifths, three at most.
 *
 * @param {string[]} source
 * @param {Step} step
 */
export function attentionText(source, { attention }) {
  const order = attention.map((_, i) => i).sort((a, b) => attention[b] - attention[a]);
  const most = [];
  let sum = 0;
  for (const i of order) {
    if (sum >= 0.8 || most.length === 3) break;
    most.push(`${source[i]} ${attention[i].toFixed(2)}`);
    sum += attention[i];
  }
  return `To predict it, the last layer's cross-attention attends most to: ${most.join(", ")}.`;
}
