/* Charts are redrawn when their width changes; colours come from the style sheet. */
function ticks(lo, hi, wanted = 5, least = 0) {
  const step0 = (hi - lo || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(step0));
  const step = Math.max(least, power * [1, 2, 5, 10].find((factor) => factor * power >= step0 * 0.999));
  const first = Math.ceil(lo / step - 1e-9);
  const count = Math.floor(hi / step + 1e-9) - first;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return { digits, values: Array.from({ length: count + 1 }, (_, i) => (first + i) * step) };
}
const scale = (lo, hi, from, to) => (value) => from + ((value - lo) / (hi - lo || 1)) * (to - from);
/* The part of the curves that matters: the first tenth of the epochs may leave the frame. */
function settled(series) {
  const kept = series.flatMap((line) => {
    const from = line.x[0] + (line.x[line.x.length - 1] - line.x[0]) / 10;
    return line.x.flatMap((value, i) => (value >= from ? [line.y[i], ...(line.lo ? [line.lo[i], line.hi[i]] : [])] : []));
  });
  return extent(kept, 0.12);
}
function extent(values, margin = 0.06) {
  const good = values.filter(Number.isFinite);
  if (!good.length) return [0, 1];
  const lo = Math.min(...good), hi = Math.max(...good);
  const pad = (hi - lo || Math.abs(hi) * 0.02 || 1) * margin;
  return [lo - pad, hi + pad];
}
/* The epochs; a single one stands in the middle. */
function span(values) {
  const [lo, hi] = extent(values, 0);
  return lo === hi ? [lo - 0.5, hi + 0.5] : [lo, hi];
}
function responsive(holder, draw) {
  let width = 0;
  const redraw = () => {
    const now = Math.round(holder.clientWidth);
    if (!now || now === width) return;
    width = now;
    holder.replaceChildren(draw(now));
  };
  new ResizeObserver(redraw).observe(holder);
  redraw();
  return holder;
}
/* A name in a plot: as much of it as there is room for, and all of it as its title. */
function caption(text, room, attributes) {
  const letters = [...text], most = Math.max(2, Math.floor(room / 7));
  const shown = letters.length > most ? letters.slice(0, most - 1).join("") + "\u2026" : text;
  return s("text", { class: "label", ...attributes }, shown, s("title", {}, text));
}
const canvas = (width, height, title) =>
  s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title });

function axisY(svg, y, lo, hi, left, right, unit = "") {
  const { values, digits } = ticks(lo, hi);
  for (const value of values) {
    svg.append(s("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }));
    svg.append(s("text", { x: left - 7, y: y(value) + 4, "text-anchor": "end" }, fixed(value, digits) + unit));
  }
}

/* Lines over epochs, or over named positions (`categories`). Series: {label, style, x, y, lo, hi}. */
function lineChart(width, { series, title, unit = "", categories = null, xlabel = "epoch", joined = true, whole = false }) {
  const tall = Math.max(190, Math.min(300, width * 0.62));
  const box = { left: 48, right: width - 10, top: 10, bottom: tall - 36 - 14 * extraLines(categories) };
  const svg = canvas(width, tall, title);
  const xs = categories ? [-0.5, categories.length - 0.5] : span(series.flatMap((line) => line.x));
  const ys = categories || whole ? extent(series.flatMap((line) => [...line.y, ...(line.lo || []), ...(line.hi || [])])) : settled(series);
  const x = scale(xs[0], xs[1], box.left, box.right), y = scale(ys[0], ys[1], box.bottom, box.top);
  axisY(svg, y, ys[0], ys[1], box.left, box.right, unit);
  axisX(svg, x, xs, box, categories, xlabel);
  const inside = s("svg", { x: box.left, y: box.top, width: Math.max(1, box.right - box.left), height: box.bottom - box.top,
    viewBox: `${box.left} ${box.top} ${Math.max(1, box.right - box.left)} ${box.bottom - box.top}`, class: "clip" });
  svg.append(inside);
  for (const line of series) (categories ? svg : inside).append(categories ? dots(line, x, y, joined) : curve(line, x, y));
  crosshair(svg, series, x, box, categories, unit);
  return svg;
}
const extraLines = (names) => Math.max(0, ...(names || []).map((name) => name.split(", ").length - 1));
function axisX(svg, x, [lo, hi], box, categories, xlabel) {
  const lines = extraLines(categories);
  svg.append(s("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  const places = categories ? categories.map((name, i) => [i, name])
    : ticks(lo, hi, (box.right - box.left) / 70, 1).values.map((value) => [value, plain(value)]);
  for (const [value, name] of places) {
    const parts = String(name).split(", ");
    parts.forEach((part, i) => svg.append(s("text", { x: x(value), y: box.bottom + 16 + 14 * i, "text-anchor": "middle" }, part)));
  }
  svg.append(s("text", { x: (box.left + box.right) / 2, y: box.bottom + 32 + 14 * lines, "text-anchor": "middle" }, xlabel));
}
function path(xs, ys, x, y) {
  let d = "", pen = "M";
  xs.forEach((value, i) => {
    if (!Number.isFinite(ys[i])) { pen = "M"; return; }
    d += `${pen}${x(value).toFixed(1)},${y(ys[i]).toFixed(1)}`;
    pen = "L";
  });
  return d;
}
function curve(line, x, y) {
  if (line.x.length === 1) return dots(line, x, y, false);
  const group = s("g", { class: line.style });
  if (line.lo) {
    const back = path([...line.x].reverse(), [...line.lo].reverse(), x, y).replace(/^M/, "L");
    group.append(s("path", { class: "band", d: path(line.x, line.hi, x, y) + back + "Z" }));
  }
  group.append(s("path", { class: "line", d: path(line.x, line.y, x, y) }));
  return group;
}
function dots(line, x, y, joined) {
  const group = s("g", { class: line.style });
  if (joined) group.append(s("path", { class: "line", d: path(line.x, line.y, x, y) }));
  line.x.forEach((value, i) => {
    if (!Number.isFinite(line.y[i])) return;
    if (line.lo) group.append(s("line", { class: "whisker", x1: x(value), x2: x(value), y1: y(line.lo[i]), y2: y(line.hi[i]) }));
    const at = s("g", { transform: `translate(${x(value)},${y(line.y[i])})` });
    at.append(mark(line.index || 0, 4.5));
    group.append(at);
  });
  return group;
}
/* One keyboard stop for each chart: arrow keys move along it, hover does the same. */
function crosshair(svg, series, x, box, categories, unit) {
  const stops = [...new Set(series.flatMap((line) => line.x))].sort((a, b) => a - b);
  if (!stops.length) return;
  const rule = s("line", { class: "cross", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const area = s("rect", {
    x: box.left, y: box.top, width: Math.max(0, box.right - box.left), height: box.bottom - box.top,
    fill: "transparent", tabindex: 0, role: "img",
    "aria-label": `${svg.getAttribute("aria-label")}: arrow keys read the values`,
  });
  let at = stops.length - 1;
  const show = (i, left, top) => {
    at = Math.max(0, Math.min(stops.length - 1, i));
    for (const end of ["x1", "x2"]) rule.setAttribute(end, x(stops[at]));
    rule.setAttribute("visibility", "visible");
    showTip(reading(series, stops[at], categories, unit), left, top);
  };
  const near = (event) => {
    const px = event.clientX - svg.getBoundingClientRect().left;
    const gaps = stops.map((stop) => Math.abs(x(stop) - px));
    show(gaps.indexOf(Math.min(...gaps)), event.clientX, event.clientY);
  };
  const leave = () => { rule.setAttribute("visibility", "hidden"); hideTip(); };
  area.addEventListener("pointermove", near);
  area.addEventListener("pointerleave", leave);
  area.addEventListener("blur", leave);
  area.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (!step) return;
    event.preventDefault();
    const frame = svg.getBoundingClientRect();
    show(at + step, frame.left + x(stops[Math.max(0, Math.min(stops.length - 1, at + step))]), frame.top + box.top);
  });
  svg.append(rule, area);
}
function reading(series, stop, categories, unit) {
  const lines = series.map((line) => [line.label, line.y[line.x.indexOf(stop)]])
    .filter(([, value]) => Number.isFinite(value)).sort((a, b) => b[1] - a[1])
    .map(([label, value]) => `${label}  ${unit ? fixed(value) + unit : plain(value)}`);
  return [categories ? categories[stop] : `epoch ${stop}`, ...lines].join("\n");
}

/* Ours minus the paper, a row for each dataset and condition, a mark for each method. */
function differencePlot(width, rows, title, open) {
  const narrow = width < 560;
  const crowd = 10 + 4.6 * Math.max(1, ...rows.map((row) => row.points.length));
  const gap = Math.max(30, crowd) + (narrow ? 16 : 0), left = narrow ? 14 : 190, right = width - 14, top = 26;
  const tall = top + rows.length * gap + 34;
  const svg = canvas(width, tall, title);
  const all = rows.flatMap((row) => row.points.flatMap((p) => [p.value - p.spread, p.value + p.spread]));
  const [lo, hi] = extent([0, ...all], 0.05);
  const x = scale(lo, hi, left, right);
  const { values, digits } = ticks(lo, hi, Math.max(3, (right - left) / 90));
  for (const value of values) {
    svg.append(s("line", { class: Math.abs(value) < 1e-9 ? "zero" : "grid", x1: x(value), x2: x(value), y1: top - 6, y2: tall - 32 }));
    svg.append(s("text", { x: x(value), y: tall - 16, "text-anchor": "middle" }, Math.abs(value) < 1e-9 ? "0" : signed(value, digits)));
  }
  svg.append(s("text", { x: x(0), y: 12, "text-anchor": "middle", class: "label" }, "the paper"));
  svg.append(s("text", { x: right, y: tall - 1, "text-anchor": "end" }, "ours minus the paper, percentage points"));
  rows.forEach((row, i) => {
    const y = top + i * gap + (narrow ? 10 + gap / 2 : gap / 2);
    svg.append(narrow ? caption(row.label, width, { x: 0, y: y - (gap - 16) / 2 + 2 })
      : caption(row.label, left - 12, { x: left - 12, y: y + 4, "text-anchor": "end" }));
    row.points.forEach((point, j) => svg.append(pointMark(point, x, y + (j - (row.points.length - 1) / 2) * 4.2, open)));
  });
  return svg;
}
function pointMark(point, x, y, open) {
  const group = s("g", { class: styleOf(point.index), tabindex: 0, role: "button", "aria-label": point.text.replaceAll("\n", ", ") });
  group.append(s("line", { class: "whisker", x1: x(point.value - point.spread), x2: x(point.value + point.spread), y1: y, y2: y, opacity: 0.35 }));
  const at = s("g", { transform: `translate(${x(point.value)},${y})` });
  at.append(mark(point.index, 5));
  group.append(at);
  return onActivate(withTip(group, point.text), () => { hideTip(); open(point.cell); });
}

/* The repeats of one cell on a line, over the paper's mean and deviation. */
function stripPlot(width, cell) {
  const svg = canvas(width, 74, "repeats of this cell");
  const paper = cell.paper;
  const edges = paper ? [paper.mean - paper.std, paper.mean + paper.std] : [];
  const [lo, hi] = extent([...cell.values, ...edges], 0.08);
  const x = scale(lo, hi, 14, width - 14);
  if (paper) {
    svg.append(s("rect", { class: "paper-band", x: x(edges[0]), width: Math.max(1, x(edges[1]) - x(edges[0])), y: 16, height: 34 }));
    svg.append(s("line", { class: "zero", x1: x(paper.mean), x2: x(paper.mean), y1: 16, y2: 50 }));
    const anchor = x(paper.mean) < 90 ? "start" : x(paper.mean) > width - 90 ? "end" : "middle";
    svg.append(s("text", { x: x(paper.mean), y: 11, "text-anchor": anchor }, `paper ${fixed(paper.mean)} \u00b1 ${fixed(paper.std)}`));
  }
  for (const value of ticks(lo, hi, Math.max(2, width / 110)).values)
    svg.append(s("text", { x: x(value), y: 70, "text-anchor": "middle" }, plain(value)));
  svg.append(s("line", { class: "axis", x1: 6, x2: width - 6, y1: 54, y2: 54 }));
  cell.values.forEach((value, i) => {
    const group = s("g", { class: styleOf(labelIndex(cell.label)), transform: `translate(${x(value)},33)` });
    group.append(mark(labelIndex(cell.label), 5.5));
    svg.append(withTip(group, `${cell.repeats[i]}: ${fixed(value)}`));
  });
  return svg;
}

/* Mean ranks with the critical difference: methods joined by a bar are not told apart. */
function rankPlot(width, ranking) {
  const longest = Math.max(...ranking.methods.map((method) => method.length));
  const left = Math.min(30 + 7.2 * longest, width * 0.55), right = width - 24, gap = 26, top = 44;
  const tall = top + ranking.methods.length * gap + 10;
  const svg = canvas(width, tall, "mean ranks");
  const x = scale(1, ranking.methods.length, left, right);
  const every = Math.ceil(20 / (x(2) - x(1)));
  for (let rank = 1; rank <= ranking.methods.length; rank += every) {
    svg.append(s("line", { class: "grid", x1: x(rank), x2: x(rank), y1: top - 8, y2: tall - 6 }));
    svg.append(s("text", { x: x(rank), y: top - 14, "text-anchor": "middle" }, String(rank)));
  }
  const best = Math.min(...ranking.ranks), reach = Math.min(best + ranking.critical, ranking.methods.length);
  svg.append(s("rect", { class: "paper-band", x: x(best), width: x(reach) - x(best), y: top - 6, height: tall - top }));
  svg.append(s("text", { x: width < 560 ? 0 : x(best), y: 12 }, `within ${fixed(ranking.critical)} of the best: not told apart`));
  ranking.methods.forEach((method, i) => {
    const y = top + i * gap + gap / 2;
    svg.append(caption(method, left - 14, { x: left - 14, y: y + 4, "text-anchor": "end" }));
    const group = s("g", { class: styleOf(labelIndex(method)), transform: `translate(${x(ranking.ranks[i])},${y})` });
    group.append(mark(labelIndex(method), 6));
    svg.append(withTip(group, `${method}: mean rank ${fixed(ranking.ranks[i])}`));
  });
  return svg;
}
