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
