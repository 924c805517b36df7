// @ts-check
// Sizes of the live diagram. Its colours are in the same file, from which Python makes CSS variables.

import constants from "./constants.json" with { type: "json" };

// From this width on, in pixels, the page has the wide form.
export const WIDE_FROM = constants.wideFrom;

// How much each form may be enlarged to fill the page.
export const LARGEST = constants.largest;

// How long the light takes along a line, and how much later it starts on the next one, in seconds.
export const PULSE = constants.pulse;
