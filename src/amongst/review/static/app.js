"use strict";
// The page of `amongst review`: it shows one row, sends what is decided, and asks for the next.

const $ = (id) => document.getElementById(id);
const filters = $("filters");
let row = null, undo = null, busy = false;

async function ask(path, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Amongst": "1" },
    body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The review does not answer, and nothing was kept. Is amongst review still running?");
  }
  const type = answer.headers.get("content-type") || "";
  const found = type.includes("json") ? await answer.json() : { problem: await answer.text() };
  if (!answer.ok && !found.row) throw new Error(found.problem);
  return { conflict: answer.status === 409, ...found };
}

function element(name, text, ...inside) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...inside);
  return made;
}

function pairs(list, cells) {
  list.replaceChildren(...cells.map(([name, text]) =>
    element("div", "", element("dt", name), element("dd", text))));
  for (const cell of list.querySelectorAll("dd")) {
    if (cell.scrollHeight > cell.clientHeight) cell.tabIndex = 0; // a keyboard can scroll it
  }
}

const percent = (share) => `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)}%`;

function candidate({ label, share }, at) {
  const bar = element("span");
  bar.className = "bar";
  bar.style.width = `${100 * share}%`;
  const name = element("span", label);
  name.className = "label";
  const button = element("button", "", bar, name, element("span", percent(share)));
  button.type = "button";
  if (at < 9) {
    button.prepend(element("kbd", String(at + 1)));
    button.setAttribute("aria-keyshortcuts", String(at + 1));
  }
  const chosen = row.decision?.action === "label" && row.decision.label === label;
  button.setAttribute("aria-pressed", String(chosen));
  button.addEventListener("click", () => decide("label", label));
  return element("li", "", button);
}

function describe(decision) {
  if (!decision) return "";
  const what = decision.action === "skip" ? "skipped this row" : `chose ${decision.label}`;
  return `${decision.who} ${what}, ${new Date(decision.at).toLocaleString()}.`;
}

function show(found, focus) {
  row = found;
  $("row").hidden = !row;
  $("done").hidden = Boolean(row);
  if (!row) {
    if (focus) $("done").focus();
    return;
  }
  $("title").textContent = `Row ${row.key}`;
  $("decision").textContent = describe(row.decision);
  $("picture").hidden = !row.picture;
  $("gone").hidden = row.picture !== false;
  if (row.picture) {
    $("picture").src = `/picture/${row.row}`;
    $("picture").alt = `Picture of row ${row.key}`;
  }
  pairs($("texts"), row.texts);
  pairs($("features"), row.features);
  $("more").textContent = row.more_features ? `and ${row.more_features} more` : "";
  $("about-features").hidden = !row.features.length;
  $("about-features").open ||= !row.picture;
  $("candidates").replaceChildren(...row.candidates.map(candidate));
  $("label").value = "";
  if (focus) $("title").focus();
}

function complain(text, next) {
  $("problem").textContent = text;
  $("alert").hidden = !text;
  $("next").hidden = !next;
}

function follow({ progress, undo: last, ahead }) {
  const { rows, decided, skipped } = progress;
  undo = last;
  $("bar").max = rows;
  $("bar").value = decided;
  $("count").textContent = `${decided} of ${rows} rows decided${skipped ? `, ${skipped} skipped` : ""}`;
  $("undo").disabled = !undo;
  if (ahead !== null) new Image().src = `/picture/${ahead}`; // is there when it is asked for
}

function wanted() {
  const { show, label, low, high } = Object.fromEntries(new FormData(filters));
  const share = (text, other) => (text === "" ? other : Math.min(1, Math.max(0, text / 100)));
  return new URLSearchParams({ show, label, low: share(low, 0), high: share(high, 1) });
}

// The row that is named, or the first that the filters want; behind a row, or from the start.
async function load(which, focus = true) {
  const found = await ask(`/api/next?${new URLSearchParams([...wanted(), ...Object.entries(which)])}`);
  follow(found);
  show(found.row, focus);
}

async function once(work) {
  if (busy) return; // a second key is not for the row that comes next
  busy = true;
  complain("");
  try {
    await work();
  } catch (error) {
    complain(error.message);
  } finally {
    busy = false;
  }
}

function decide(action, label) {
  return once(async () => {
    const sent = row;
    const answer = await ask("/api/decide", { row: sent.row, version: sent.version, action, label });
    if (answer.conflict) return conflict(answer.row);
    const said = action === "skip" ? "skipped" : label;
    await load({ after: sent.row });
    $("said").textContent = `Row ${sent.key}: ${said}. ${$("count").textContent}.`;
  });
}

const goOn = () => once(() => load({ after: row.row }));

function takeBack() {
  return once(async () => {
    if (!undo) return;
    const answer = await ask("/api/decide", { row: undo.row, version: undo.version, action: "undo" });
    if (answer.conflict) return conflict(answer.row);
    await load({ row: undo.row });
    $("said").textContent = `Undone: row ${row.key} is open again.`;
  });
}

async function conflict(found) {
  await load({ row: found.row });
  const now = describe(row.decision) || "It is open again.";
  complain(`Row ${row.key} was changed in another window meanwhile, and yours was not kept. ${now} Decide again, or`, true);
}

function key(event) {
  const writes = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (!row && event.key !== "u") return;
  if (writes || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  const chosen = /^[1-9]$/.test(event.key) && row?.candidates[event.key - 1];
  if (chosen) decide("label", chosen.label);
  else if (event.key === "s") decide("skip");
  else if (event.key === "n") goOn();
  else if (event.key === "u") takeBack();
}

function remember() {
  history.replaceState(null, "", `/?${new URLSearchParams(new FormData(filters))}`);
}

function other(event) {
  event.preventDefault();
  const label = $("label").value.trim();
  if (about.classes.includes(label)) decide("label", label);
  else complain(`${label} is no label of this file.`);
}

let about = { classes: [] };

async function start() {
  about = await ask("/api/about");
  $("name").textContent = about.name;
  $("who").textContent = about.who;
  document.title = `Review of ${about.name}`;
  const option = (label) => Object.assign(element("option", label), { value: label });
  filters.elements.label.append(...about.classes.map(option));
  $("classes").append(...about.classes.map(option));
  for (const [name, value] of new URLSearchParams(location.search)) {
    if (filters.elements[name]) filters.elements[name].value = value;
  }
  remember(); // without the token
  await load({}, false);
}

filters.addEventListener("change", () => once(() => (remember(), load({}, false))));
filters.addEventListener("submit", (event) => event.preventDefault());
$("other").addEventListener("submit", other);
$("skip").addEventListener("click", () => decide("skip"));
$("undo").addEventListener("click", takeBack);
for (const button of [$("next"), $("further")]) button.addEventListener("click", goOn);
$("picture").addEventListener("error", () => {
  $("picture").hidden = true;
  $("gone").hidden = false;
});
$("picture").addEventListener("load", ({ target }) =>
  target.classList.toggle("small", target.naturalWidth < 200));
document.addEventListener("keydown", key);
once(start);
