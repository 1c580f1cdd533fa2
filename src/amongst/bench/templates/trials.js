/* The list of all trials: sorted, filtered, shown a page at a time, each with its detail. */
const PAGE = 25;
const COLUMNS = [
  { key: "dataset", label: "Dataset" }, { key: "condition", label: "Condition" },
  { key: "method", label: "Method" }, { key: "model", label: "Model" },
  { key: "seed", label: "Seed", number: true }, { key: "fold", label: "Fold", number: true },
  { key: "value", label: DATA.metricLabel, number: true, show: (v) => (v == null ? "\u2013" : fixed(v * 100)) },
  { key: "seconds", label: "Seconds", number: true, show: (v) => fixed(v, 1) },
  { key: "device", label: "Device" },
];

function trialList(section) {
  const columns = COLUMNS.filter(({ key }) => key !== "fold" || TRIALS.some((trial) => trial.fold != null));
  const state = { text: "", key: null, up: true, shown: PAGE };
  const body = h("tbody"), more = h("button", { type: "button", class: "control" });
  const count = h("span", { class: "note", role: "status" });
  const render = () => {
    const found = TRIALS.filter(matcher(state.text));
    if (state.key) found.sort(comparer(state.key, state.up));
    body.replaceChildren(...found.slice(0, state.shown).map((trial) => trialRow(trial, columns)));
    count.textContent = `${found.length} of ${TRIALS.length} trials`;
    more.hidden = found.length <= state.shown;
    more.textContent = `Show ${Math.min(4 * PAGE, found.length - state.shown)} more`;
  };
  const box = h("input", { class: "control", type: "search", placeholder: "mnist q=0.1 rc beta=2", "aria-label": "Filter trials" });
  box.addEventListener("input", () => { state.text = box.value; state.shown = PAGE; render(); });
  more.addEventListener("click", () => { state.shown += 4 * PAGE; render(); });
  $(".controls", section).append(box, count);
  const head = h("tr", {}, h("th", {}, h("span", { class: "hidden" }, "Detail")), columns.map((column) => headCell(column, state, render)));
  $(".scroll", section).append(h("table", { class: "trials" }, h("caption", { class: "hidden" }, "All trials"), h("thead", {}, head), body));
  $(".more", section).append(more);
  render();
}
function headCell(column, state, render) {
  const button = h("button", { type: "button" }, column.label);
  const head = h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": "none", "data-key": column.key }, button);
  button.addEventListener("click", () => {
    state.up = state.key === column.key ? !state.up : true;
    state.key = column.key;
    $$("th[aria-sort]", head.parentNode).forEach((other) => other.setAttribute("aria-sort", "none"));
    head.setAttribute("aria-sort", state.up ? "ascending" : "descending");
    render();
  });
  return head;
}
function matcher(text) {
  const wanted = search(text), key = text.trim().toLowerCase();
  return (trial) => wanted(searchText(trial)) || (key.length > 5 && trial.key.startsWith(key));
}
function searchText(trial) {
  if (!trial.text) {
    const settings = Object.entries(trial.settings).map(([name, value]) => `${name}=${value}`);
    trial.text = [trial.dataset, trial.condition, trial.method, trial.model, trial.repeat, `seed=${trial.seed}`,
      trial.device, trial.error ? "failed" : "", ...settings].join(" ").toLowerCase();
  }
  return trial.text;
}
function comparer(key, up) {
  return (a, b) => {
    if (a[key] == null || b[key] == null) return (a[key] == null) - (b[key] == null);
    const gap = typeof a[key] === "number" ? a[key] - b[key] : String(a[key]).localeCompare(String(b[key]));
    return up ? gap : -gap;
  };
}
function trialRow(trial, columns) {
  const open = h("button", { type: "button", class: "open", "aria-expanded": "false",
    "aria-label": `Detail of ${trial.dataset} ${trial.condition} ${trial.method} ${trial.repeat}` });
  const row = h("tr", { class: trial.error ? "failed" : null }, h("td", {}, open), columns.map((column) => {
    const value = trial[column.key];
    return h("td", { class: column.number ? "number" : null }, column.show ? column.show(value) : value == null ? "\u2013" : String(value));
  }));
  open.addEventListener("click", () => {
    const was = open.getAttribute("aria-expanded") === "true";
    open.setAttribute("aria-expanded", String(!was));
    if (was) row.nextElementSibling.remove();
    else row.after(h("tr", { class: "detail" }, h("td", { colspan: columns.length + 1 }, trialDetail(trial))));
  });
  return row;
}
function trialDetail(trial) {
  const facts = [["key", trial.key], ["data", trial.digest || "\u2013"], ["finished", trial.created.slice(0, 16).replace("T", " ") || "\u2013"],
    ["environment", `no. ${trial.environment + 1}`]];
  const metrics = trial.metrics.map(([name, value]) => [pretty(name), isShare(name) ? fixed(value * 100) + " %" : plain(value)]);
  return h("div", { class: "within" },
    trial.error ? h("p", { class: "alert" }, trial.error) : null,
    h("h4", {}, "Settings"), pairs(Object.entries(trial.settings)),
    metrics.length ? [h("h4", {}, "Metrics"), pairs(metrics)] : null,
    Object.keys(trial.curves).length ? [h("h4", {}, "Curves"), curveBox([curveItem(trial)])] : null,
    h("h4", {}, "Record"), pairs(facts),
    reproduce("Reproduce its cell", trial.command));
}
