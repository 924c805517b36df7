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
