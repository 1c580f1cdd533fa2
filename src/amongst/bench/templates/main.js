/* Theme, the mark in the navigation, and the start. */
function theme() {
  const button = h("button", { type: "button", class: "theme" }), root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const name = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; };
  $(".bar > div").append(button);
  button.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    try { localStorage.setItem("amongst-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
    name();
  });
  try { const kept = localStorage.getItem("amongst-theme"); if (kept) root.dataset.theme = kept; } catch { /* the same */ }
  dark.addEventListener("change", name);
  name();
}
function navigation() {
  const links = new Map($$(".bar nav a").map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((link, id) => (id === entry.target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const id of links.keys()) watch.observe(document.getElementById(id));
}

theme();
navigation();
for (const table of DATA.tables) {
  const article = document.getElementById(table.id);
  enhanceTable(article);
  differences(article, table);
  ranks(article, table);
}
for (const data of DATA.figures) figure(document.getElementById(data.id), data);
learningCurves($("#curves"));
trialList($("#trials"));
