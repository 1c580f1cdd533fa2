/* Tables are in the page already; here they learn to sort, to filter and to open their cells. */
const CELLS = new Map(DATA.tables.flatMap((table) => table.cells.map((cell) => [cell.id, cell])));

function enhanceTable(article) {
  const table = $("table.results", article);
  const bodies = $$("tbody", table).map((body) => ({ body, rows: $$("tr.row", body) }));
  $$("thead th[data-column]", table).forEach((head) => {
    $("button", head).addEventListener("click", () => sortTable(table, bodies, head));
  });
  $$("button.cell", table).forEach((button) => {
    button.addEventListener("click", () => openCell(button.dataset.cell));
  });
  const controls = $(".controls", article);
  controls.hidden = false;
  const box = h("input", { class: "control", type: "search", placeholder: "Filter rows", "aria-label": "Filter rows" });
  box.addEventListener("input", () => filterTable(bodies, box.value));
  const shown = { "\u00b1 deviation": "no-std" };
  if (table.dataset.paper) Object.assign(shown, { "the paper's figure": "no-paper", difference: "no-diff" });
  const labels = Object.keys(shown);
  controls.append(box, h("span", { class: "gap" }), ...toggles(labels, labels, (on) => {
    for (const label of labels) table.classList.toggle(shown[label], !on.has(label));
  }));
  if (table.dataset.holm) controls.append(...toggles(["Holm-corrected stars"], [], (on) => {
    table.classList.toggle("holm", on.size > 0);
  }));
}
function sortTable(table, bodies, head) {
  const column = head.dataset.column;
  const cycle = column === "name" ? ["none", "ascending", "descending"] : ["none", "descending", "ascending"];
  const order = cycle[(cycle.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
  $$("thead th[data-column]", table).forEach((other) => other.setAttribute("aria-sort", other === head ? order : "none"));
  const value = (row) => row.querySelector(`[data-column="${CSS.escape(column)}"]`).dataset.sort;
  const compare = (a, b) => {
    const [one, two] = [value(a), value(b)];
    if (one === "" || two === "") return (one === "") - (two === "");
    const gap = column === "name" ? one.localeCompare(two) : one - two;
    return order === "ascending" ? gap : -gap;
  };
  for (const { body, rows } of bodies) body.append(...(order === "none" ? rows : [...rows].sort(compare)));
}
function filterTable(bodies, text) {
  const wanted = search(text);
  for (const { body, rows } of bodies) {
    for (const row of rows) row.hidden = !wanted(row.dataset.text.toLowerCase());
    body.hidden = rows.every((row) => row.hidden);
  }
}

const dialog = h("dialog", { id: "cell", "aria-labelledby": "cell-title" });
document.body.append(dialog);
function openCell(id) {
  const cell = CELLS.get(id);
  if (!cell) return;
  const title = h("div", {}, h("h3", { id: "cell-title" }, swatch(labelIndex(cell.label)), cell.label),
    h("p", { class: "soft" }, cell.where, cell.label === cell.method ? "" : `, ${cell.method}`));
  const close = h("button", { type: "button", class: "control", autofocus: true }, "Close");
  close.addEventListener("click", () => dialog.close());
  const body = h("div", { class: "body" });
  dialog.replaceChildren(h("header", {}, title, close), body);
  dialog.showModal();
  body.append(cellFacts(cell), cellRepeats(cell), cellCurves(cell) || "", cellSettings(cell),
    reproduce("Reproduce this cell", DATA.commands[cell.command]) || "");
  dialog.scrollTop = 0;
}
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

function cellFacts(cell) {
  const facts = [["mean of " + cell.n, fixed(cell.mean) + " %"], ["standard deviation", fixed(cell.std)]];
  if (cell.low != null) facts.push(["95 % confidence interval", `${fixed(cell.low)} to ${fixed(cell.high)}`]);
  if (cell.paper) facts.push(["the paper", `${fixed(cell.paper.mean)} \u00b1 ${fixed(cell.paper.std)}${cell.paper.star ? " *" : ""}`],
    ["difference", signed(cell.difference) + " points"]);
  if (cell.best) facts.push(["standing", "best here"]);
  if (cell.p != null) facts.push([`p, ${cell.rival} better (${DATA.test})`, plain(cell.p)]);
  if (cell.least) facts.push([`least p for ${cell.pairs} pairs`, plain(cell.least)]);
  if (cell.holm != null) facts.push(["p after Holm", plain(cell.holm)]);
  if (cell.failed) facts.push(["trials that failed", cell.failed]);
  return h("section", {}, pairs(facts));
}
function cellRepeats(cell) {
  const values = pairs(cell.values.map((value, i) => [cell.repeats[i], fixed(value)]));
  return h("section", {}, h("h4", {}, "Repeats"), repeats(cell), h("details", {}, h("summary", {}, "Values"), values));
}
function cellCurves(cell) {
  const trials = cell.trials.map((index) => TRIALS[index]).filter((trial) => Object.keys(trial.curves).length);
  return trials.length ? h("section", {}, h("h4", {}, "Learning curves of the repeats"), curveBox(trials.map(curveItem))) : null;
}
function cellSettings(cell) {
  const how = cell.considered > 1
    ? `Chosen among ${cell.considered} settings by ${cell.criterion}${/fold/.test(cell.repeats[0]) ? ", in each fold by itself; this is the first fold's" : ""}.`
    : `One setting was run${cell.note ? " (" + cell.note + ")" : ""}; nothing was selected.`;
  return h("section", {}, h("h4", {}, "Settings"), pairs(Object.entries(DATA.settings[cell.settings])),
    h("p", { class: "note" }, how, cell.oracle ? " The oracle reads true labels: such a figure cannot be had on data of one's own." : ""));
}
