/* Small tools. Text from data reaches the page through textContent and setAttribute only. */
const DATA = JSON.parse(document.getElementById("data").textContent);
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const MINUS = "\u2212";
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true && !name.startsWith("aria-")) node.setAttribute(name, "");
    else if (name.startsWith("aria-") && value != null) node.setAttribute(name, String(value));
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child != null) node.append(child);
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/* As in Python, so that no number has two texts: a tie goes to the even digit, and 0 has no sign. */
function fixed(value, digits = 2) {
  if (value == null || Number.isNaN(value)) return "\u2013";
  const text = value.toFixed(digits);
  const tie = Math.abs(value * 2 ** (digits + 1)) % 2 === 1 && /[13579]$/.test(text);
  return (tie ? (value - Math.sign(value) * 1e-9).toFixed(digits) : text).replace("-", MINUS);
}
function signed(value, digits = 2) {
  const text = fixed(value, digits);
  if (!/[1-9]/.test(text)) return text.replace(MINUS, "");
  return value > 0 ? "+" + text : text;
}
const plain = (value) =>
  typeof value !== "number" ? String(value)
    : String(Number.isInteger(value) ? value : +value.toPrecision(4)).replace("-", MINUS);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/* Whether every word of the text begins a word: "rc" finds RC, and MSRCv2 is not meant by it. */
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const whole = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(/^[\p{L}\p{N}]/u.test(word) ? `(?<![\\p{L}\\p{N}])${whole}` : whole, "u");
  });
  return (found) => words.every((word) => word.test(found));
}

/* A curve travels as base64 of 16-bit steps between its lowest and highest value; 65535 is NaN. */
function decode(curve) {
  const bytes = atob(curve.b);
  const values = [];
  for (let i = 0; i < bytes.length; i += 2) {
    const step = bytes.charCodeAt(i) | (bytes.charCodeAt(i + 1) << 8);
    values.push(step === 65535 ? NaN : curve.lo + (step / 65534) * (curve.hi - curve.lo));
  }
  return { x: epochs(curve.n, values.length), y: values };
}
/* Which epochs were kept: the same rule as in Python, evenly spread with both ends. */
function epochs(n, kept) {
  if (kept <= 1) return [n];
  return Array.from({ length: kept }, (_, i) => 1 + Math.round((i * (n - 1)) / (kept - 1)));
}

const tip = h("div", { class: "tip", role: "status", hidden: true });
document.body.append(tip);
function showTip(text, x, y) {
  ($("dialog[open]") || document.body).append(tip);  /* an open dialog covers all that is not in it */
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
}
const hideTip = () => { tip.hidden = true; };
addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

/* Hover, touch and keyboard focus show the same text. */
function withTip(node, text) {
  node.addEventListener("pointermove", (event) => showTip(text, event.clientX, event.clientY));
  node.addEventListener("pointerleave", hideTip);
  node.addEventListener("blur", hideTip);
  node.addEventListener("focus", () => {
    const box = node.getBoundingClientRect();
    if (node.matches(":focus-visible")) showTip(text, box.x + box.width / 2, box.y + box.height / 2);
  });
  return node;
}
function onActivate(node, action) {
  node.addEventListener("click", action);
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); action(); }
  });
  return node;
}

const SHAPES = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r * 0.88},${-r * 0.88}h${r * 1.76}v${r * 1.76}h${-r * 1.76}z`,
  (r) => `M0,${-r * 1.2}L${r * 1.1},${r * 0.8}H${-r * 1.1}z`,
  (r) => `M0,${-r * 1.25}L${r * 1.25},0L0,${r * 1.25}L${-r * 1.25},0z`,
  (r) => `M0,${r * 1.2}L${r * 1.1},${-r * 0.8}H${-r * 1.1}z`,
];
const styleOf = (index) => `s${index % 8}`;
const mark = (index, r = 5, x = 0, y = 0) =>
  s("path", { class: "mark", d: SHAPES[index % SHAPES.length](r), transform: `translate(${x},${y})` });
function swatch(index) {
  const drawing = s("svg", { class: `swatch ${styleOf(index)}`, viewBox: "-7 -7 14 14", "aria-hidden": "true" });
  drawing.append(mark(index));
  return drawing;
}
const labelIndex = (label) => Math.max(0, DATA.labels.indexOf(label));

function copyButton(text) {
  const button = h("button", { type: "button", class: "control" }, "Copy");
  button.addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { selectText(button.previousElementSibling); button.textContent = "Selected"; }
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
  return button;
}
function selectText(node) {
  const range = document.createRange();
  range.selectNodeContents(node);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}
const command = (text) => h("div", { class: "command" }, h("code", {}, text), copyButton(text));
const reproduce = (title, text) => (text ? h("section", {}, h("h4", {}, title), command(text)) : null);
const pairs = (entries) =>
  h("dl", { class: "pairs" }, entries.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, plain(value)))));

/* A row of toggle buttons, one for each label; `changed` receives the set of labels that are on. */
function toggles(labels, on, changed, decorate = () => null) {
  const chosen = new Set(on);
  return labels.map((label) => {
    const button = h("button", { type: "button", class: "control", "aria-pressed": chosen.has(label) },
      decorate(label), label);
    button.addEventListener("click", () => {
      if (!chosen.delete(label)) chosen.add(label);
      button.setAttribute("aria-pressed", chosen.has(label));
      changed(chosen);
    });
    return button;
  });
}
const legend = (labels, changed) => toggles(labels, labels, changed, (label) => swatch(labelIndex(label)));
function choice(name, options, value, changed) {
  const select = h("select", { class: "control" },
    options.map(([key, label]) => h("option", { value: key, selected: key === value }, label)));
  select.addEventListener("change", () => changed(select.value));
  return h("label", {}, name, select);
}
