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
/* A box that draws itself whenever its width changes, and when told to. */
function plot(draw) {
  const holder = h("div");
  holder.redraw = () => { if (holder.clientWidth) holder.replaceChildren(draw(Math.round(holder.clientWidth))); };
  let width = 0;
  new ResizeObserver(() => {
    if (Math.round(holder.clientWidth) === width) return;
    width = Math.round(holder.clientWidth);
    holder.redraw();
  }).observe(holder);
  return holder;
}
const panel = (title, content) => h("div", { class: "panel" }, h("h3", {}, title), content);
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

/* Lines over epochs, or over named positions (`categories`). Series: {label, index, x, y, lo, hi}. */
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
  const group = s("g", { class: styleOf(line.index) });
  if (line.lo) {
    const back = path([...line.x].reverse(), [...line.lo].reverse(), x, y).replace(/^M/, "L");
    group.append(s("path", { class: "band", d: path(line.x, line.hi, x, y) + back + "Z" }));
  }
  group.append(s("path", { class: "line", d: path(line.x, line.y, x, y) }));
  return group;
}
function dots(line, x, y, joined) {
  const group = s("g", { class: styleOf(line.index) });
  if (joined) group.append(s("path", { class: "line", d: path(line.x, line.y, x, y) }));
  line.x.forEach((value, i) => {
    if (!Number.isFinite(line.y[i])) return;
    if (line.lo) group.append(s("line", { class: "whisker", x1: x(value), x2: x(value), y1: y(line.lo[i]), y2: y(line.hi[i]) }));
    group.append(mark(line.index, 4.5, x(value), y(line.y[i])));
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

/* Points in rows over one axis, seen against a line (`at`) or a band. Points: {index, value, spread, text, open}. */
function rowChart(width, { title, rows, at = null, band = [], seen = [], least = 0, head = "", foot = "", tick = fixed }) {
  const named = rows.some((row) => row.label), narrow = named && width < 560;
  const most = Math.max(1, ...rows.map((row) => row.points.length));
  const gap = Math.max(30, 10 + 4.6 * most) + 16 * narrow, top = 26, bottom = top + rows.length * gap;
  const longest = Math.max(...rows.map((row) => row.label.length));
  const left = narrow || !named ? 14 : Math.min(190, 30 + 7.2 * longest), right = width - 14;
  const svg = canvas(width, bottom + 34, title);
  const ends = rows.flatMap((row) => row.points.flatMap((p) => [p.value - (p.spread || 0), p.value + (p.spread || 0)]));
  const [lo, hi] = extent([...ends, ...band, ...seen, at ?? ends[0]], 0.05);
  const x = scale(lo, hi, left, right);
  const upright = (value, kind) => s("line", { class: kind, x1: x(value), x2: x(value), y1: top - 6, y2: bottom + 2 });
  if (band.length) svg.append(s("rect", { class: "paper-band", x: x(band[0]), width: Math.max(1, x(band[1]) - x(band[0])), y: top - 6, height: bottom - top + 8 }));
  const { values, digits } = ticks(lo, hi, Math.max(3, (right - left) / 90), least);
  for (const value of values)
    svg.append(upright(value, "grid"), s("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, tick(value, digits)));
  if (at != null) svg.append(upright(at, "zero"));
  const half = Math.min(width / 2, 3.5 * head.length), over = x(at ?? band[0] ?? lo);
  svg.append(s("text", { x: Math.max(half, Math.min(over, width - half)), y: 12, "text-anchor": "middle" }, head));
  svg.append(s("text", { x: right, y: bottom + 33, "text-anchor": "end" }, foot));
  rows.forEach((row, i) => {
    const y = top + (i + 0.5) * gap + 8 * narrow;
    if (narrow) svg.append(caption(row.label, width, { x: 0, y: y - gap / 2 + 10 }));
    else if (named) svg.append(caption(row.label, left - 12, { x: left - 12, y: y + 4, "text-anchor": "end" }));
    row.points.forEach((point, j) => svg.append(pointMark(point, x, y + (j - (row.points.length - 1) / 2) * 4.2)));
  });
  return svg;
}
function pointMark({ index, value, spread, text, open }, x, y) {
  const reach = open ? { tabindex: 0, role: "button", "aria-label": text.replaceAll("\n", ", ") } : {};
  const group = s("g", { class: styleOf(index), ...reach });
  if (spread) group.append(s("line", { class: "whisker", x1: x(value - spread), x2: x(value + spread), y1: y, y2: y, opacity: 0.35 }));
  group.append(mark(index, 5, x(value), y));
  withTip(group, text);
  return open ? onActivate(group, () => { hideTip(); open(); }) : group;
}
