"use strict";
const MAX_ROWS = 500, MAX_TYPES = 8, MAX_JUMPS = 100, MAX_LINES = 4000, MAX_SHOWN = 10000, POLL_MS = 1000, MAX_ARGUMENT = 30000;
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g; // By a terminal.
const $ = (id) => document.getElementById(id);
const make = (tag, textContent = "", className = "") => Object.assign(document.createElement(tag), { textContent, className });
const button = (text, action, className = "") => { const made = make("button", text, className); made.addEventListener("click", action); return made; };
let rows = [], last = 0, paused = false, selected = null, clearedAt = 0;
const say = (sentence) => { $("notice").textContent = sentence; };
/* ---- The API of the inspector ---- */
async function call(method, path, body) {
  const headers = method === "GET" ? {} : { "X-Intake-Inspector": "1" };
  const response = await fetch(path, { method, headers, body });
  const text = await response.text();
  if (!response.ok) throw new Error(text || response.statusText);
  return text;
}
const get = async (path) => JSON.parse(await call("GET", path));
/* ---- The list ---- */
async function poll() {
  if (!paused) {
    try {
      const answer = await get(`requests?after=${last}`);
      const isNew = answer.last < last; // Another stack answers.
      rows = isNew ? [] : [...answer.requests.reverse(), ...rows].slice(0, MAX_ROWS);
      if (isNew || answer.requests.length) drawRows();
      last = isNew ? 0 : answer.last;
      $("state").textContent = answer.oldest > clearedAt + 1 && rows.length ? `Older requests than #${answer.oldest} are no longer kept.` : "";
      if (answer.requests.some(({ account }) => account && !accounts.includes(account))) await listAccounts();
      drawEmpty();
    } catch (error) { $("state").textContent = "The local stack does not answer. Is it still running?"; }
  }
  setTimeout(poll, POLL_MS);
}
/* A sentence in place of an empty list. */
function drawEmpty() {
  $("why-empty").textContent = clearedAt ? "Cleared. The next request appears here." : "No request yet.";
  $("empty").hidden = rows.length > 0;
  $("nothing").hidden = rows.length === 0 || $("rows").childElementCount > 0;
  $("table").hidden = $("rows").childElementCount === 0;
  const wanted = [$("filter").value.trim() && `"${$("filter").value.trim()}"`, chosen() && `the account ${chosen()}`].filter(Boolean).join(" and ");
  $("unmatched").textContent = `None of the ${rows.length} requests matches ${wanted}.`;
}
function matches(row) {
  const text = [`#${row.n}`, row.method, row.path, row.status, row.code, row.reason, row.account, row.requestId, row.requestIdentifier, row.subject,
    ...Object.keys(row.types)].join(" ").toLowerCase();
  return (!chosen() || row.account === chosen()) && $("filter").value.toLowerCase().split(/\s+/).every((word) =>
    /^[1-5]xx$/.test(word) ? String(row.status)[0] === word[0] : text.includes(word));
}
const outcomes = (row) => (row.received === null ? [] : [["accepted", "good"], ["rejected", "bad"], ["deferred", "warned"]]
  .filter(([name]) => row[name] || name === "accepted").map(([name, className]) => [`${row[name]} ${name}`, row[name] ? className : ""])
  .concat(row.replayed ? [["replayed", ""]] : []));
const outcome = (row) => outcomes(row).map(([text]) => text).join(", ");
const counted = (number, thing) => `${number} ${thing}${number === 1 ? "" : "s"}`;
/* What is to be said of a request, each with its class: why it was refused, its first error, the first break of an event contract, its first warning. */
function why(row) {
  const said = [row.code === "validation-failed" ? "" : row.code, row.reason].filter(Boolean).join(" · ");
  const first = (number, code, pointer) => `${code} ${pointer || "(the body)"}${number > 1 ? ` (+${number - 1})` : ""}`;
  const [broken] = row.contractBreaks, isWarning = row.warnings && !row.errors && !broken;
  return [[said, row.status >= 400 ? "bad" : "warned"], [row.errors ? first(row.errors, row.fieldCode, row.pointer) : "", "bad"],
    [broken ? first(row.contractBreaks.length, broken.code, broken.pointer) : "", "warned"],
    [isWarning ? first(row.warnings, row.fieldCode, row.pointer) : row.warnings ? counted(row.warnings, "warning") : "", "warned"]].filter(([text]) => text);
}
const status = (number) => make("span", number, `status ${number >= 400 ? "bad" : "good"}`);
function types(row, most) {
  const names = Object.entries(row.types).map(([name, count]) => (name.trim() || '" "') + (count > 1 ? ` ×${count}` : ""));
  return names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
}
function drawRows() {
  const focused = Number(document.activeElement?.closest("tr")?.dataset.n), found = rows.filter(matches);
  const current = [focused, selected].find((n) => found.some((row) => row.n === n)) ?? found[0]?.n;
  $("rows").replaceChildren(...found.map((row) => {
    const line = make("tr");
    const cell = (className, label, ...content) => {
      const made = make("td", "", className + (content.some((part) => part?.textContent ?? part) ? "" : " is-empty"));
      if (label) made.dataset.label = label;
      made.append(...content);
      return made;
    };
    const signals = make("div");
    outcomes(row).forEach(([text, className], index) => signals.append(index ? ", " : "", make("span", text, className)));
    line.append(cell("n", "", `#${row.n}`), cell("time", "Time", new Date(row.time).toLocaleTimeString()), cell("request", "", `${row.method} ${row.path}`),
      cell("status-of", "", status(row.status)), cell("signals", "Signals", signals), cell("why", "Why", ...why(row).map(([text, className]) => make("div", text, className))),
      cell("account", "Account", row.account ?? ""), cell("subject", "Subject", row.subject ?? ""), cell("types", "Type", types(row, MAX_TYPES)));
    line.tabIndex = row.n === current ? 0 : -1; // One row is in the order of Tab: the detail comes after it.
    line.dataset.n = row.n;
    line.setAttribute("aria-selected", row.n === selected);
    return line;
  }));
  $("table").classList.toggle("several", new Set([...accounts, ...rows.map((row) => row.account)].filter(Boolean)).size > 1);
  $("rows").querySelector(`[data-n="${focused}"]`)?.focus();
  drawEmpty();
}
$("rows").addEventListener("click", (event) => open(Number(event.target.closest("tr").dataset.n)));
$("filter").addEventListener("input", drawRows);
$("pause").addEventListener("click", () => { paused = !paused; $("pause").setAttribute("aria-pressed", paused); say(paused ? "Paused: requests that arrive now appear when you continue." : ""); });
$("clear").addEventListener("click", async () => { await call("DELETE", "requests"); rows = []; clearedAt = last; say(""); close(); });
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape" && event.target === $("filter")) { event.target.value = ""; drawRows(); }
    return event.key === "Escape" && event.target.blur();
  }
  if (event.target.closest("#detail") && !["Escape", "/"].includes(event.key)) return; // These two lead out of the detail, which the others scroll.
  const line = event.target.closest("tr[data-n]");
  const next = { ArrowDown: line?.nextElementSibling, ArrowUp: line?.previousElementSibling }[event.key];
  if (next) { next.focus(); event.preventDefault(); if (selected !== null) open(Number(next.dataset.n)); }
  else if (event.key === "Enter" && line) open(Number(line.dataset.n));
  else if (event.key === "Tab" && !event.shiftKey && line) { event.preventDefault(); open(Number(line.dataset.n)).then(() => $("detail").querySelector(".actions button")?.focus()); }
  else if (event.key === "ArrowDown" && !line) $("rows").firstElementChild?.focus();
  else if (event.key === "Escape") close();
  else if (event.key === "/") { $("filter").focus(); event.preventDefault(); }
  else if (event.key === "p" && !event.ctrlKey && !event.metaKey) $("pause").click();
});
/* ---- One request ---- */
function show(n) { // Its address survives a reload.
  selected = n;
  history.replaceState(null, "", n === null ? location.pathname : `#${n}`);
  $("detail").hidden = n === null;
  document.querySelector("main").classList.toggle("open", n !== null);
  drawRows();
}
const close = () => show(null);
async function open(n, note = "") {
  let request;
  try { request = await get(`requests/${n}`); } catch (error) {
    say(`There is no request #${n}, or it is no longer kept.`);
    return close();
  }
  say("");
  show(n);
  const pane = $("detail"), encoding = request.requestHeaders.find(([name]) => name === "content-encoding");
  pane.dataset.n = n;
  const title = make("div", "", "title"), actions = make("p", "", "actions"), said = make("p", note, "quiet said"), marks = marksOf(request);
  title.append(status(request.status), make("h2", `#${n} ${request.method} ${request.path}`));
  const copy = async () => { said.textContent = await copied(curl(request)) ? "Copied." : "Copy it from here:"; };
  const event = Object.assign(make("a", "Save as event"), { href: `requests/${n}/event`, download: `event-${n}.json` });
  actions.append(button("Edit and send", () => edit(request, pane, said), "main"), button("Copy as curl", copy), event, button("Close", close, "last"));
  const facts = make("dl"), fact = (name, text) => text && facts.append(make("dt", name), make("dd", text));
  fact("Why", [request.code, request.reason].filter(Boolean).join(": "));
  fact("Signals", [outcome(request), types(request)].filter(Boolean).join(" · "));
  fact("Account", request.account ?? "none");
  fact("Time", `${new Date(request.time).toLocaleTimeString()}, ${request.durationMs} ms`);
  fact("Identifier", request.requestIdentifier);
  fact("x-request-id", request.requestId ?? "none");
  const shown = body(request, marks); // Makes the elements of the marks.
  pane.replaceChildren(title, facts, actions, said, ...jumps(marks),
    make("h3", "Body, as it was sent" + (encoding ? ` (sent as ${encoding[1]}, shown decoded)` : "")), shown,
    make("h3", "Response"), pretty(request.responseBody),
    make("h3", "Request headers"), headers(request.requestHeaders),
    make("h3", "Response headers"), headers(request.responseHeaders));
  pane.scrollTop = 0;
}
/* Puts a text into the clipboard, or where there is none, such as over plain HTTP from a phone, into a field to copy it from. */
async function copied(text) {
  try { await navigator.clipboard.writeText(text); return true; } catch (error) {
    $("detail").querySelector("textarea.copy")?.remove();
    const field = Object.assign(make("textarea", text, "copy"), { readOnly: true, rows: 6, ariaLabel: "The line for a shell" });
    $("detail").querySelector(".said").after(field);
    field.select();
    return false;
  }
}
function jumps(marks) {
  if (!marks.length) return [];
  const list = make("ul", "", "jumps"), number = (wanted) => marks.filter(({ kind }) => kind === wanted).length;
  for (const one of marks.slice(0, MAX_JUMPS)) {
    const jump = button(`${one.pointer || "the body"}: ${one.message}`, () => one.element?.scrollIntoView({ block: "center" }));
    list.appendChild(make("li")).append(Object.assign(jump, { className: one.className }));
  }
  if (marks.length > MAX_JUMPS) list.append(make("li", `and ${marks.length - MAX_JUMPS} more, marked in the body`, "quiet"));
  const kinds = [["error", "error"], ["break", "break of an event contract", "breaks of event contracts"], ["warning", "warning"]].filter(([kind]) => number(kind))
    .map(([kind, one, several]) => (several && number(kind) !== 1 ? `${number(kind)} ${several}` : counted(number(kind), one)));
  return [make("h3", kinds.join(", ")), list];
}
const headers = (pairs) => make("pre", pairs.map(([name, value]) => `${name}: ${value}`).join("\n"));
function parsed(text) { try { return JSON.parse(text); } catch (error) { return {}; } } // Not a response of a function.
function marksOf({ responseBody, contractBreaks }) {
  const { fieldErrors = [], warnings = [] } = parsed(responseBody);
  const of = (findings, kind, className) => findings.map((finding) => ({ ...finding, kind, className }));
  return [...of(fieldErrors, "error", "bad"), ...of(contractBreaks, "break", "warned"), ...of(warnings, "warning", "warned")];
}
function body(request, marks) {
  const [bytes, text] = [request.requestBytes, request.requestBody];
  if (!text) return make("p", bytes === null ? "The body is larger than API Gateway accepts." : text === null ? `${bytes} bytes that are not text, or not kept.` : "No body.", "quiet");
  const { detail } = parsed(request.responseBody), place = request.code === "malformed-json" && /line (\d+), column (\d+)/.exec(detail);
  return place ? malformed(text, Number(place[1]), Number(place[2]), detail) : pretty(text, marks);
}
/* Columns count the bytes of a line, as serde_json does. */
function malformed(text, line, column, sentence) {
  const lines = text.split("\n"), pre = make("pre");
  const bytes = new TextEncoder().encode(lines[line - 1] ?? ""), decode = (part) => new TextDecoder().decode(part);
  const before = decode(bytes.slice(0, column - 1)), at = [...decode(bytes.slice(Math.max(column - 1, 0)))][0] ?? "␤";
  const context = lines.slice(Math.max(line - 20, 0), line - 1).map((shown) => shown.slice(0, 400) + "\n").join("");
  pre.append(context, before.slice(-2000), make("mark", at, "bad"), make("mark", sentence, "bad note"), "\n",
    (lines[line - 1] ?? "").slice(before.length + at.length).slice(0, 400) + "\n", lines.slice(line, line + 20).join("\n").slice(0, 4000));
  return pre;
}
/* Reads JSON as text, so that every digit stays as it was sent: a node is {text} or {open, close, items: [{key, node}]}, with
   its start and end in the text. */
function parse(text) {
  JSON.parse(text); // It is JSON, or an error.
  const token = /\s*([{}[\]:,]|"(?:[^"\\]|\\.)*"|[^\s{}[\]:,"]+)/gy;
  const next = () => token.exec(text)[1];
  const root = { open: "", items: [] }, path = [root];
  let key = null, word = next();
  do {
    const parent = path[path.length - 1];
    if (word === "}" || word === "]") path.pop().end = token.lastIndex;
    else if (word !== ",") {
      if (parent.open === "{") { key = word; next(); word = next(); }
      const isNested = word === "{" || word === "[", start = token.lastIndex - word.length, end = token.lastIndex;
      const node = isNested ? { open: word, close: word === "{" ? "}" : "]", items: [], start } : { text: word, start, end };
      parent.items.push({ key: parent.open === "{" ? key : null, node });
      if (node.items) path.push(node);
    }
    if (path.length > 1) word = next();
  } while (path.length > 1);
  return root.items[0].node;
}
/* Puts each mark on the node of its JSON Pointer (RFC 6901), or on the nearest ancestor where the member is absent. */
function mark(root, marks) {
  for (const one of marks) {
    let node = root;
    node.marked = true;
    for (const step of (one.pointer ?? "").split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))) {
      const inside = node.open === "[" ? node.items[step]?.node : node.items?.findLast(({ key }) => JSON.parse(key) === step)?.node;
      if (!inside) break;
      node = inside;
      node.marked = true;
    }
    (node.marks ??= []).push(one);
  }
}
/* Shows JSON, a text or what parse() made of it, with its marks. */
function pretty(json, marks = []) {
  const pre = make("pre");
  let lines = 0;
  const write = (node, indent, lead, tail, into) => {
    const noted = (shown) => {
      if (!node.marks) return [shown];
      const className = node.marks.some((one) => one.className === "bad") ? "bad" : "warned";
      const element = make("mark", shown, className);
      for (const one of node.marks) one.element = element;
      return [element, ...node.marks.map((one) => make("mark", `${one.code}: ${one.message}`, one.className + " note"))];
    };
    if (!node.items?.length) {
      const text = node.text ?? node.open + node.close, more = text.length - MAX_SHOWN;
      lines++;
      return into.append(indent + lead, ...noted((more > 0 ? `${text.slice(0, MAX_SHOWN)} … ${more} more …` : text) + tail), "\n");
    }
    if (lines > MAX_LINES && !node.marked) return into.append(`${indent}${lead}${node.open} … ${node.items.length} more … ${node.close}${tail}\n`);
    into.append(indent + lead, ...noted(node.open), "\n");
    lines++;
    let skipped = 0;
    node.items.forEach(({ key, node: inside }, index) => {
      if (lines > MAX_LINES && !inside.marked) skipped++;
      else write(inside, indent + "  ", key === null ? "" : `${key}: `, index + 1 < node.items.length ? "," : "", into);
    });
    if (skipped) into.append(`${indent}  … ${skipped} more without a mark …\n`);
    into.append(indent + node.close + tail + "\n");
  };
  try {
    const root = typeof json === "string" ? parse(json) : json;
    mark(root, marks);
    write(root, "", "", "", pre);
  } catch (error) { pre.textContent = String(json).slice(0, 100000); } // No JSON, or nested too deeply.
  return pre;
}
/* The request as a line for sh. Whatever a client sent is in single quotes; what a terminal obeys or shows in another order, and what is
   too long for an argument, comes by printf. */
function curl(request) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const sent = (name) => request.requestHeaders.filter(([other]) => other === name).map(([, value]) => value.replace(OBEYED, "\ufffd"));
  const header = (name, value) => quote(value ? `${name}: ${value}` : `${name};`);
  const { path, requestBody: body } = request, line = ["curl -sS"], [authorization] = sent("authorization");
  if (/[[\]{}]/.test(path)) line.push("--globoff");
  if (path.includes("/.")) line.push("--path-as-is");
  line.push(`-X ${quote(request.method)} "$BASE_URL"${quote(path.replace(/^\/?/, "/"))}`);
  if (authorization === "Bearer $API_KEY") line.push('-H "Authorization: Bearer $API_KEY"');
  else if (authorization === "Bearer (no key)") line.push("-H 'Authorization: Bearer'");
  else if (authorization) line.push(`-H ${quote(`Authorization: ${/^\S+ /.exec(authorization)?.[0] ?? ""}`)}"$OTHER_KEY"`);
  for (const name of ["content-type", "prefer", "origin"]) for (const value of sent(name)) line.push(`-H ${header(name, value)}`);
  if (!body) return line.join(" ");
  if (!sent("content-type").length) line.push("-H 'Content-Type:'"); // Or curl says that it is a form.
  const isObeyed = body.search(OBEYED) >= 0;
  if (!isObeyed && body.length < MAX_ARGUMENT) return [...line, `--data-raw ${quote(body)}`].join(" ");
  const octal = (text) => [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  const text = quote(body.replaceAll("\\", "\\\\").replaceAll("%", "%%").replace(OBEYED, octal));
  return `printf ${text} | ${[...line, "--data-binary @-"].join(" ")}`;
}
/* The place of the requestIdentifier in a request, if it has one. */
function identifier(text) {
  try { return parse(text).items?.findLast(({ key }) => JSON.parse(key) === "requestIdentifier")?.node; } catch (error) { return undefined; }
}
/* Puts another requestIdentifier into the text of a request, and leaves the rest of it as it is. What is no JSON stays so. */
function withNewId(text) {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const id = `"${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}"`; // randomUUID needs HTTPS.
  const found = identifier(text);
  return found ? text.slice(0, found.start) + id + text.slice(found.end) : text.replace("{", `{"requestIdentifier":${id},`);
}
/* The text of JSON, or of what parse() made of it, indented and with every digit; any other text as it is. */
function indented(json, indent = "") {
  let node = json;
  try { if (typeof json === "string") node = parse(json); } catch (error) { return json; }
  if (!node.items?.length) return node.text ?? node.open + node.close;
  const items = node.items.map(({ key, node: inside }) => `${indent}  ${key === null ? "" : `${key}: `}${indented(inside, `${indent}  `)}`);
  return `${node.open}\n${items.join(",\n")}\n${indent}${node.close}`;
}
function edit(request, pane, said) {
  pane.querySelector("form")?.remove(); // One editor at a time.
  const form = make("form"), text = make("textarea"), label = make("label"), box = make("input"), actions = make("p", "", "actions");
  const sent = request.requestBody ?? "", isBatch = request.path.includes("signal");
  Object.assign(text, { value: sent, rows: Math.min(Math.max(sent.length / 30, 6), 20), hidden: !sent, ariaLabel: "Body", spellcheck: false });
  try { text.value = indented(sent); } catch (error) {} // It is nested too deeply.
  const before = text.value; // Which has other line breaks than the body.
  // With the same identifier, a changed body is a conflict.
  Object.assign(box, { type: "checkbox", checked: isBatch && Boolean(identifier(sent)) });
  label.append(box, "with a new requestIdentifier");
  label.hidden = !sent || !isBatch;
  actions.append(button("Send", async (event) => {
    event.preventDefault();
    try {
      const changed = box.checked ? withNewId(text.value) : text.value === before ? undefined : text.value;
      const answer = JSON.parse(await call("POST", `requests/${request.n}/replay`, changed));
      open(answer.n, `Sent again: ${answer.status}${answer.replayed ? ", replayed" : ""}.`);
    } catch (error) { said.textContent = error.message; }
  }, "main"), button("Cancel", (event) => { event.preventDefault(); form.remove(); }), label);
  form.append(text, actions);
  said.after(form);
  text.setSelectionRange(0, 0);
  (sent ? text : actions.firstChild).focus();
}
/* ---- What is stored, of the account that is chosen ---- */
let accounts = [];
const chosenOf = { list: "", stored: "dev" }; // The list has the requests of all accounts at first.
const view = () => document.querySelector("nav [aria-current=page]").dataset.view;
const kind = () => (view() === "requests" ? "list" : "stored");
const chosen = () => (kind() === "list" ? chosenOf.list : "");
const ofAccount = (path) => `${path}?account=${encodeURIComponent(chosenOf.stored)}`;
/* The selector says what is shown: the requests of all accounts or of one, what is stored of one. */
async function listAccounts() {
  accounts = await get("accounts");
  const options = accounts.map((account) => Object.assign(make("option", `Account ${account}`), { value: account }));
  if (kind() === "list") options.unshift(Object.assign(make("option", "All accounts"), { value: "" }));
  $("account").replaceChildren(...options);
  $("account").value = chosenOf[kind()];
  $("account").hidden = accounts.length < 2;
}
async function showCustomer() {
  const place = $("customer").lastElementChild, id = $("customer").firstElementChild.elements.id.value;
  if (!id) return place.replaceChildren(make("p", "Type the customerId of a customer, or the emitterId of a workflow step.", "quiet"));
  try {
    const text = await call("GET", ofAccount(`customers/${encodeURIComponent(id)}`)), { profile, signals } = JSON.parse(text);
    const isStored = profile !== null || signals.length;
    place.replaceChildren(isStored ? pretty(text) : make("p", `Nothing is stored of ${id} in the account ${chosenOf.stored}.`, "quiet"));
  } catch (error) { place.replaceChildren(make("pre", error.message, "bad")); }
}
async function refreshRejected(outcome) {
  const place = $("rejected").lastElementChild;
  try {
    const list = await call("GET", ofAccount("rejected")), nodes = parse(list).items;
    place.replaceChildren(make("p", outcome ?? (nodes.length ? "" : "No rejected signal is kept."), "quiet said"));
    JSON.parse(list).forEach((signal, index) => {
      const entry = nodes[index].node, payload = entry.items.find(({ key }) => key === '"payload"').node;
      const marks = signal.errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/signals\/\d+/, ""), className: "bad" }));
      const edited = make("textarea", indented(payload)), card = make("div", "", "card"), actions = make("p", "", "actions");
      Object.assign(edited, { rows: 5, ariaLabel: "Payload", spellcheck: false });
      place.append(card);
      card.append(make("h2", signal.subjectId ?? "no subject"), make("p", new Date(signal.receivedAt).toLocaleString(), "quiet"), pretty(payload, marks), edited, actions);
      actions.append(button("Redrive", async () => {
          const text = list.slice(entry.start, payload.start) + edited.value + list.slice(payload.end, entry.end);
          place.firstElementChild.textContent = "Asking cargo intake. The first time, it is built.";
          try { refreshRejected(await call("POST", ofAccount("rejected/redrive"), text)); } catch (error) { refreshRejected(error.message); }
        }, "main"));
    });
  } catch (error) { place.replaceChildren(make("pre", error.message, "bad")); }
}
$("customer").firstElementChild.addEventListener("submit", (event) => { event.preventDefault(); showCustomer(); });
$("refresh").addEventListener("click", () => refreshRejected());
$("account").addEventListener("change", () => { chosenOf[kind()] = $("account").value; showView(); });
$("all").addEventListener("click", () => { $("filter").value = $("account").value = chosenOf.list = ""; drawRows(); $("filter").focus(); });
function showView() {
  if (view() === "requests") drawRows();
  else if (view() === "customer") showCustomer();
  else refreshRejected();
}
const markCurrent = (tab) => document.querySelectorAll("nav button").forEach((each) => each.setAttribute("aria-current", each === tab ? "page" : "false"));
document.querySelectorAll("nav button").forEach((tab) => tab.addEventListener("click", async () => {
  markCurrent(tab);
  for (const name of ["requests", "customer", "rejected"]) $(name).hidden = name !== view();
  for (const name of ["filter", "pause", "clear"]) $(name).hidden = view() !== "requests";
  $("detail").hidden = view() !== "requests" || selected === null;
  await listAccounts();
  showView();
}));
markCurrent(document.querySelector("nav button"));
const openAddress = () => { if (/^#\d+$/.test(location.hash)) open(Number(location.hash.slice(1))); };
addEventListener("hashchange", openAddress);
listAccounts().then(openAddress, () => {}).then(poll);
