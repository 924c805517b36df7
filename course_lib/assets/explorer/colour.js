// Palettes that colour-blind readers can tell apart, and the theme of whatever page this is in.

const PALETTES = {
  mako: "def5e5 b2e4c2 79d6ae 49c1ad 38aaac 3492a8 357aa2 38629d 40498e 3e3469 332345 211423 0b0405",
  viridis: "440154 481f70 443983 3b518b 31688e 287c8e 21908d 20a486 35b779 5cc863 90d743 c8e020 fde725",
  cividis: "00224e 003170 2a3f6d 424e6c 575d6d 6a6c71 7c7b78 918b78 a59c74 bbad6d d2c060 e9d34e fee838",
  grey: "ffffff f5f5f5 e9e9e9 d9d9d9 c6c6c6 b0b0b0 959595 7e7e7e 686868 515151 333333 181818 000000",
};
const DARK_AT_ZERO = ["viridis", "cividis"]; // on every page, as readers know them
// Scores have a sign: nothing is the colour of the page, blue is below, red above.
const SIGNED = {
  light: "2369bd 5380bc 7896c1 9baecb bdc6d7 dfe1e8 faf5f4 efdad8 e1b9b6 d39794 c67875 b85857 a9373b",
  dark: "bde7db 81bfcf 4798ce 4167c7 444282 2b2a40 1f1e1e 412329 782c3f b93540 e25f33 f39a5f ffd4ac",
};
const THEMES = {
  light: { back: "#ffffff", ink: "#1d2430", soft: "#586273", edge: "#c9d0d9", accent: "#b3320a",
    line: "#0b5fa5", hatch: "#9aa3ae", hatched: "#eceef1", gold: "#c25a00", halo: "#ffffff" },
  dark: { back: "#12161d", ink: "#e8ebf0", soft: "#a7b2c1", edge: "#3a4452", accent: "#ffb000",
    line: "#6cc0ff", hatch: "#667180", hatched: "#232a34", gold: "#ffa14a", halo: "#12161d" },
};

// In the others little weight looks like the page: pale on a light one, dark on a dark one.
function paletteOf(name, theme, signed) {
  const stops = (signed ? SIGNED[theme] : PALETTES[name]).split(" ")
    .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  if (!signed && theme === "dark" && !DARK_AT_ZERO.includes(name)) stops.reverse();
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const x = (i / 255) * (stops.length - 1), n = Math.min(stops.length - 2, Math.floor(x));
    const [r, g, b] = range(3).map((c) =>
      Math.round(stops[n][c] + (x - n) * (stops[n + 1][c] - stops[n][c])));
    table[i] = 0xff000000 | (b << 16) | (g << 8) | r; // as canvases store it: alpha, blue, green, red
  }
  const css = (i) => {
    const c = table[Math.max(0, Math.min(255, Math.round(i)))];
    return `rgb(${c & 255} ${(c >> 8) & 255} ${(c >> 16) & 255})`;
  };
  return { table, css, gradient: `linear-gradient(90deg, ${range(13).map((i) => css((i * 255) / 12))})` };
}

// The page's own switch first (JupyterLab), then what stands behind the explorer, then the system.
function themeAround(el) {
  const lab = document.body.dataset.jpThemeLight;
  if (lab) return lab === "true" ? "light" : "dark";
  for (let node = el; node; node = node.parentElement) {
    const [r, g, b, alpha = 1] = (getComputedStyle(node).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (alpha > 0.5) return 0.299 * r + 0.587 * g + 0.114 * b > 128 ? "light" : "dark";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function onThemeChange(callback) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const watcher = new MutationObserver(callback);
  const attributeFilter = ["class", "style", "theme", "data-jp-theme-light"];
  for (const node of [document.documentElement, document.body])
    watcher.observe(node, { attributes: true, attributeFilter });
  system.addEventListener("change", callback);
  return () => { watcher.disconnect(); system.removeEventListener("change", callback); };
}
