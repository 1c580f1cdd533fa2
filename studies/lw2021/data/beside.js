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
for (const table of DATA.tables) differences(document.getElementById(table.id), table);
for (const data of DATA.figures) figure(document.getElementById(data.id), data);
