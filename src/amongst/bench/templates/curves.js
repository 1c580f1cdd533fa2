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
const unitOf = (name) => (isShare(name) ? " %" : "");
const pretty = (name) => name.replaceAll("_", " ");

function points(curve, name) {
  const { x, y } = decode(curve);
  return { x, y: isShare(name) ? y.map((value) => value * 100) : y };
}
const curveItem = (trial) => ({ label: trial.repeat, index: labelIndex(trial.label), curves: trial.curves });
/* Curves of single trials with a choice of the quantity. */
function curveBox(items) {
  const names = curveNames(items);
  let name = names[0];
  const box = plot((width) => lineChart(width, {
    series: items.filter((item) => item.curves[name]).map((item) => ({ ...item, ...points(item.curves[name], name) })),
    title: pretty(name), unit: unitOf(name),
  }));
  const menu = choice("Quantity", names.map((key) => [key, pretty(key)]), name, (key) => { name = key; box.redraw(); });
  return h("div", {}, names.length > 1 ? h("div", { class: "controls" }, menu) : null, box);
}

/* Mean over the repeats with the range between them. */
function pooled(cell, name) {
  const lines = curvesOf(cell).filter((curves) => curves[name]).map((curves) => points(curves[name], name));
  if (!lines.length) return [];
  const x = lines.reduce((a, b) => (a.x.length <= b.x.length ? a : b)).x;
  const at = (epoch) => lines.map((line) => line.y[line.x.indexOf(epoch)]).filter(Number.isFinite);
  const over = (rule) => x.map((epoch) => (at(epoch).length ? rule(at(epoch)) : NaN));
  return [{ label: cell.label, index: labelIndex(cell.label),
    x, y: over(mean), lo: over((v) => Math.min(...v)), hi: over((v) => Math.max(...v)) }];
}
const curvesOf = (cell) => cell.trials.map((index) => TRIALS[index].curves).filter((curves) => Object.keys(curves).length);
const groupBy = (items, key) => {
  const groups = new Map();
  for (const item of items) groups.set(key(item), [...(groups.get(key(item)) || []), item]);
  return [...groups];
};

function learningCurves(section) {
  const tables = DATA.tables.map((table) => ({ ...table, cells: table.cells.filter((cell) => curvesOf(cell).length) }))
    .filter((table) => table.cells.length);
  if (!tables.length) { section.hidden = $(".bar a[href='#curves']").hidden = true; return; }
  const state = { table: tables[0], dataset: "", name: "", whole: false, on: new Set() };
  const render = () => drawPanels($(".panels", section), state);
  const build = () => {
    const cells = state.table.cells;
    const datasets = [...new Set(cells.map((cell) => cell.dataset))];
    const names = curveNames(cells.flatMap((cell) => cell.trials.map((index) => TRIALS[index])));
    const lines = [...new Set(cells.map((cell) => cell.label))];
    Object.assign(state, { dataset: datasets[0], name: names[0], whole: false, on: new Set(lines) });
    const set = (key) => (value) => { state[key] = value; render(); };
    $(".choices", section).replaceChildren(
      tables.length > 1 ? choice("Of", tables.map((table) => [table.id, table.title]), state.table.id, use) : "",
      choice("Dataset", datasets.map((name) => [name, name]), state.dataset, set("dataset")),
      choice("Quantity", names.map((name) => [name, pretty(name)]), state.name, set("name")),
      ...toggles(["whole range"], [], (on) => set("whole")(on.size > 0)));
    $(".legend", section).replaceChildren(...legend(lines, set("on")));
    render();
  };
  const use = (id) => { state.table = tables.find((table) => table.id === id); build(); };
  build();
}
function drawPanels(holder, { table, dataset, on, name, whole }) {
  const cells = table.cells.filter((cell) => cell.dataset === dataset && on.has(cell.label));
  const drawings = groupBy(cells, (cell) => cell.where).map(([title, members]) => {
    const series = members.flatMap((cell) => pooled(cell, name));
    return panel(title, plot((width) => lineChart(width, { series, title, whole, unit: unitOf(name) })));
  });
  holder.classList.toggle("one", drawings.length === 1);
  holder.replaceChildren(...drawings);
}

const gap = (value) => (value == null ? NaN : value);
function figure(article, data) {
  const panels = $(".panels", article);
  panels.classList.toggle("two", data.panels.length % 3 === 1);
  panels.append(...data.panels.map(({ title, note, series }) => panel(title, note ? h("p", { class: "note" }, note)
    : plot((width) => lineChart(width, { title, categories: data.x, xlabel: data.xlabel, unit: " %", joined: data.joined,
      series: series.map((line) => ({ label: line.label, index: labelIndex(line.label),
        x: data.x.map((_, i) => i), y: line.mean.map(gap), lo: line.low.map(gap), hi: line.high.map(gap) })) })))));
}
/* Ours minus the paper, a row for each dataset and condition, a mark for each method. */
function differences(article, table) {
  const cells = table.cells.filter((cell) => cell.paper);
  if (!cells.length) return;
  const methods = DATA.labels.filter((label) => cells.some((cell) => cell.label === label));
  let on = new Set(methods);
  const point = (cell) => ({
    index: labelIndex(cell.label), value: cell.difference, spread: cell.std, open: () => openCell(cell.id),
    text: `${cell.label}, ${cell.where}\nours ${fixed(cell.mean)} \u00b1 ${fixed(cell.std)}\npaper ${fixed(cell.paper.mean)} \u00b1 ${fixed(cell.paper.std)}\ndifference ${signed(cell.difference)}`,
  });
  const box = plot((width) => rowChart(width, {
    title: `${table.title}: difference to the paper`, at: 0, head: "the paper", tick: signed,
    foot: "ours minus the paper, percentage points",
    rows: groupBy(cells.filter((cell) => on.has(cell.label)), (cell) => cell.where)
      .map(([label, members]) => ({ label, points: members.map(point) })),
  }));
  $(".differences", article).append(box);
  $(".legend", article).append(...legend(methods, (chosen) => { on = chosen; box.redraw(); }));
}
/* Mean ranks with the critical difference: what is in the band is not told apart from the best. */
function ranks(article, { ranking }) {
  if (!ranking) return;
  const best = Math.min(...ranking.ranks), last = ranking.methods.length;
  $(".ranks", article).append(plot((width) => rowChart(Math.min(width, 640), {
    title: "mean ranks", band: [best, Math.min(best + ranking.critical, last)], seen: [1, last], least: 1,
    head: `within ${fixed(ranking.critical)} of the best: not told apart`,
    rows: ranking.methods.map((label, i) => ({ label, points: [{
      index: labelIndex(label), value: ranking.ranks[i], text: `${label}: mean rank ${fixed(ranking.ranks[i])}` }] })),
  })));
}
/* The repeats of one cell on a line, over the paper's mean and deviation. */
const repeats = (cell) => plot((width) => rowChart(width, {
  title: "repeats of this cell",
  ...(cell.paper && { at: cell.paper.mean, band: [cell.paper.mean - cell.paper.std, cell.paper.mean + cell.paper.std],
    head: `paper ${fixed(cell.paper.mean)} \u00b1 ${fixed(cell.paper.std)}` }),
  rows: [{ label: "", points: cell.values.map((value, i) => ({
    index: labelIndex(cell.label), value, text: `${cell.repeats[i]}: ${fixed(value)}` })) }],
}));
