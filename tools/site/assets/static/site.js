// Plots and figures with a script look at the theme that the body names, as in JupyterLab.
(() => {
  const body = document.body.dataset, system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const theme = body.theme === "light" || body.theme === "dark" ? body.theme : system.matches ? "dark" : "light";
    body.jpThemeLight = String(theme === "light");
  };
  new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", follow);
  follow();
})();

// Paper cannot be unfolded, and it is light.
(() => {
  /** @type {HTMLDetailsElement[]} */
  let opened = [], theme = "";
  addEventListener("beforeprint", () => {
    theme = document.body.dataset.theme ?? "auto";
    document.body.dataset.theme = "light";
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => {
    document.body.dataset.theme = theme;
    for (const part of opened) part.open = false;
  });
})();

// The theme has two complementary landmarks, and no names for them.
for (const [part, name] of Object.entries({ ".sidebar-drawer": "All pages", ".toc-drawer": "On this page" }))
  document.querySelector(part)?.setAttribute("aria-label", name);
