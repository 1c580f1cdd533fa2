/* Learning curves, the paper's figures, ranks and differences. */
const TRIALS = (DATA.trials.key || []).map((_, index) => {
  const trial = Object.fromEntries(Object.entries(DATA.trials).map(([name, column]) => [name, column[index]]));
  trial.repeat = `seed ${trial.seed}` + (trial.fold == null ? "" : `, fold ${trial.fold}`);
  trial.settings = DATA.settings[trial.settings];
  trial.command = DATA.commands[trial.command];
  trial.digest = DATA.digests[trial.digest];
  trial.metrics = DATA.metrics.map((name, i) => [name, trial.metrics[i]]).filter(([, value]) => value != null);
  return trial;
});
const TEST_CURVES = ["covering_test", "accuracy_test"];
const curveNames = (items) => [...new Set(items.flatMap((item) => Object.keys(item.curves)))].sort(
  (a, b) => TEST_CURVES.indexOf(b) - TEST_CURVES.indexOf(a) || a.localeCompare(b));
const isShare = (name) => /^(accuracy|covering|approximated)/.test(name);
const pretty = (name) => name.replaceAll("_", " ");

function points(curve, name) {
  const { x, y } = decode(curve);
  return { x, y: isShare(name) ? y.map((value) => value * 100) : y };
}
/* Curves of single trials with a choice of the quantity. */
function curveBox(items) {
  const names = curveNames(items);
  const holder = h("div");
  let draw;
  const use = (name) => {
    const series = items.filter((item) => item.curves[name]).map((item) => ({ ...item, ...points(item.curves[name], name) }));
    draw = (width) => lineChart(width, { series, title: pretty(name), unit: isShare(name) ? " %" : "" });
    if (holder.clientWidth) holder.replaceChildren(draw(holder.clientWidth));
  };
  use(names[0]);
  requestAnimationFrame(() => responsive(holder, (width) => draw(width)));
  const menu = names.length > 1 ? h("div", { class: "controls" }, choice("Quantity", names.map((name) => [name, pretty(name)]), names[0], use)) : null;
  return h("div", {}, menu, holder);
}

/* Mean over the repeats with the range between them. */
function pooled(trials, name) {
  const lines = trials.filter((trial) => trial.curves[name]).map((trial) => points(trial.curves[name], name));
  if (!lines.length) return null;
  const x = lines.reduce((a, b) => (a.x.length <= b.x.length ? a : b)).x;
  const at = (epoch) => lines.map((line) => line.y[line.x.indexOf(epoch)]).filter(Number.isFinite);
  const over = (rule) => x.map((epoch) => (at(epoch).length ? rule(at(epoch)) : NaN));
  return { x, y: over(mean), lo: over((v) => Math.min(...v)), hi: over((v) => Math.max(...v)) };
}
function learningCurves(section) {
  const hasCurves = (cell) => cell.trials.some((index) => Object.keys(TRIALS[index].curves).length);
  const tables = DATA.tables.map((table) => ({ ...table, cells: table.cells.filter(hasCurves) })).filter((table) => table.cells.length);
  if (!tables.length) { section.hidden = $(".bar a[href='#curves']").hidden = true; return; }
  const state = { table: tables[0], dataset: "", name: "", whole: false, on: new Set() };
  const render = () => drawPanels($(".panels", section), state);
  const build = () => {
    const cells = state.table.cells;
    const datasets = [...new Set(cells.map((cell) => cell.dataset))];
    const names = curveNames(cells.flatMap((cell) => cell.trials.map((index) => TRIALS[index])));
    const lines = [...new Set(cells.map((cell) => cell.label))];
    Object.assign(state, { dataset: datasets[0], name: names[0], on: new Set(lines) });
    const set = (key) => (value) => { state[key] = value; render(); };
    $(".choices", section).replaceChildren(
      tables.length > 1 ? choice("Of", tables.map((table) => [table.id, table.title]), state.table.id, use) : "",
      choice("Dataset", datasets.map((name) => [name, name]), state.dataset, set("dataset")),
      choice("Quantity", names.map((name) => [name, pretty(name)]), state.name, set("name")),
      ...toggles(["whole range"], [], (on) => set("whole")(on.size > 0)));
    $(".legend", section).replaceChildren(...toggles(lines, lines, set("on"), (line) => swatch(labelIndex(line))));
    render();
  };
  const use = (id) => { state.table = tables.find((table) => table.id === id); build(); };
  build();
}
function drawPanels(holder, state) {
  const { name, whole } = state, groups = new Map();
  for (const cell of state.table.cells.filter((item) => item.dataset === state.dataset && state.on.has(item.label))) {
    const key = [cell.dataset, cell.condition].filter(Boolean).join(", ");
    groups.set(key, [...(groups.get(key) || []), cell]);
  }
  const drawings = [...groups].map(([title, members]) => {
    const series = members.map((cell) => {
      const line = pooled(cell.trials.map((index) => TRIALS[index]), name);
      return line && { ...line, label: cell.label, index: labelIndex(cell.label), style: styleOf(labelIndex(cell.label)) };
    }).filter(Boolean);
    return panel(title, (width) => lineChart(width, { series, title, whole, unit: isShare(name) ? " %" : "" }));
  });
  holder.classList.toggle("one", drawings.length === 1);
  holder.replaceChildren(...drawings);
}
function panel(title, draw) {
  const holder = h("div");
  requestAnimationFrame(() => responsive(holder, draw));
  return h("div", { class: "panel" }, h("h4", {}, title), holder);
}

function figure(article, data) {
  const panels = $(".panels", article);
  panels.classList.toggle("two", data.panels.length % 3 === 1);
  const empty = (part) => h("div", { class: "panel" }, h("h4", {}, part.title), h("p", { class: "note" }, part.note));
  panels.append(...data.panels.map((part) => part.note ? empty(part) : panel(part.title, (width) => lineChart(width, {
    title: part.title, categories: data.x, xlabel: data.xlabel, unit: " %", joined: data.joined,
    series: part.series.map((line) => ({
      label: line.label, index: labelIndex(line.label), style: styleOf(labelIndex(line.label)),
      x: data.x.map((_, i) => i), y: line.mean.map(gap), lo: line.low.map(gap), hi: line.high.map(gap),
    })),
  }))));
}
const gap = (value) => (value == null ? NaN : value);
function differences(article, table) {
  const holder = $(".differences", article);
  if (!holder) return;
  const cells = table.cells.filter((cell) => cell.paper && cell.n);
  const methods = DATA.labels.filter((label) => cells.some((cell) => cell.label === label));
  let on = new Set(methods);
  const rows = () => {
    const groups = new Map();
    for (const cell of cells.filter((item) => on.has(item.label))) {
      const label = [cell.dataset, cell.condition].filter(Boolean).join(", ");
      groups.set(label, [...(groups.get(label) || []), differencePoint(cell)]);
    }
    return [...groups].map(([label, points]) => ({ label, points }));
  };
  const draw = (width) => differencePlot(width, rows(), `${table.title}: difference to the paper`, openCell);
  $(".legend", article).append(...toggles(methods, methods, (chosen) => {
    on = chosen;
    holder.replaceChildren(draw(holder.clientWidth));
  }, (label) => swatch(labelIndex(label))));
  responsive(holder, draw);
}
function differencePoint(cell) {
  const place = [cell.dataset, cell.condition].filter(Boolean).join(", ");
  return {
    cell: cell.id, index: labelIndex(cell.label), value: cell.difference, spread: cell.std || 0,
    text: `${cell.label}, ${place}\nours ${fixed(cell.mean)} \u00b1 ${fixed(cell.std)}\npaper ${fixed(cell.paper.mean)} \u00b1 ${fixed(cell.paper.std)}\ndifference ${signed(cell.difference)}`,
  };
}
function ranks(article, table) {
  const holder = $(".ranks", article);
  if (holder && table.ranking) responsive(holder, (width) => rankPlot(Math.min(width, 640), table.ranking));
}
