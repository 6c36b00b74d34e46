// What is open beside a list: a request with its headers and bodies. (A signal: signal.js.)

const MAX_JUMPS = 100;

/* The request that was got last, and the text of its body as JSON. */
let got = null;
/* How often a row was opened: what arrives late for an earlier one is not shown. */
let opened = 0;

/* Selects a row of the list that is shown, or none. Its address survives a reload, and Back closes what was opened. */
function show(key) {
  const list = shownList();
  const isOpened = list.selected === null && key !== null;
  const wasInDetail = $("detail").contains(document.activeElement);
  list.selected = key;
  if (key !== null) list.current = key;
  setAddress(isOpened);
  $("detail").hidden = key === null;
  document.querySelector("main").classList.toggle("open", key !== null);
  list.reveal(key);
  if (key === null && wasInDetail) list.drawn.get(list.current)?.focus({ preventScroll: true });
}
const close = () => shownList() && show(null);
/* Opens a row, and says something of it. */
async function open(key, note = "") {
  if (key.endsWith(".head")) return (location.hash = `#${numberOf(key)}`);
  const turn = ++opened;
  const n = numberOf(key);
  let sent;
  try {
    sent = await sentRequest(n);
  } catch (error) {
    close();
    return say(n > last ? `There is no request #${n} yet.` : `Request #${n} is no longer in the list.`);
  }
  if (turn !== opened || !shownList()) return;
  say("");
  const pane = $("detail");
  pane.dataset.key = key;
  pane.replaceChildren(...(key.includes(".") ? signalParts(key, sent) : requestParts(sent.request, note)));
  show(key);
  pane.scrollTop = 0;
}
/* A request of the stack, and the text of each of its signals. */
async function sentRequest(n) {
  const id = `${stack} ${n}`;
  if (got?.id === id) return got;
  const request = await get(`requests/${n}`);
  let nodes;
  const signalText = (index) => {
    nodes ??= signalNodes(request.requestBody ?? "");
    const node = nodes[index];
    return node && request.requestBody.slice(node.start, node.end);
  };
  return (got = { id, request, signalText });
}
function signalNodes(body) {
  try {
    const signals = parse(body).items?.findLast(({ key }) => JSON.parse(key) === "signals");
    return (signals?.node.items ?? []).map(({ node }) => node);
  } catch (error) {
    return [];
  }
}
/* Names and values, of which an empty one is left out. */
function factList(facts) {
  const list = make("dl");
  for (const [name, ...content] of facts) {
    if (!content.some((part) => part?.textContent ?? part)) continue;
    const value = make("dd");
    value.append(...content.map((part) => (typeof part === "string" ? unhidden(part) : part)));
    list.append(make("dt", name), value);
  }
  return list;
}
function requestParts(request, note) {
  const { n } = request;
  const pane = $("detail");
  const encoding = request.requestHeaders.find(([name]) => name === "content-encoding");
  const title = make("div", "", "title");
  const actions = make("p", "", "actions");
  const said = make("p", note, "quiet said");
  const marks = marksOf(request);
  const heading = make("h2", `#${n} ${request.method} `);
  heading.append(isolated(request.path));
  title.append(status(request), heading);
  const copy = async () => {
    said.textContent = (await copied(curl(request))) ? "Copied." : "Copy it from here:";
  };
  const event = Object.assign(make("a", "Save as API Gateway event"), {
    href: `requests/${n}/event`,
    download: `api-gateway-event-${n}.json`,
  });
  actions.append(
    button("Edit and send", () => edit(request, pane, said), "main"),
    button("Copy as curl", copy),
    event,
    button("Close", close, "last"),
  );
  const facts = factList([
    ["Why", [request.code, request.reason].filter(Boolean).join(": ")],
    ["Outcome", outcome(request)],
    ["Types", ...Object.entries(request.types).flatMap(typeAndNumber)],
    ["Subject", ...subjectLink(request.subject, request.account)],
    ["Account", request.account ?? "none"],
    ["Time", `${clock(request.time)}, ${request.durationMs} ms`],
    ["Identifier", request.requestIdentifier ?? ""],
    ["x-request-id", request.requestId ?? "none"],
  ]);
  const shown = body(request, marks); // Makes the elements of the marks.
  return [
    title,
    facts,
    actions,
    said,
    ...jumps(marks),
    make("h3", "Body, as it was sent" + (encoding ? ` (sent as ${encoding[1]}, shown decoded)` : "")),
    shown,
    make("h3", "Response"),
    pretty(request.responseBody),
    make("h3", "Request headers"),
    headers(request.requestHeaders),
    make("h3", "Response headers"),
    headers(request.responseHeaders),
  ];
}
/* A type and how many signals have it, after others. */
const typeAndNumber = ([name, number], index) => [
  index ? ", " : "",
  isolated(visible(name)),
  number > 1 ? ` ×${number}` : "",
];
/* An id, which leads to its customer if it is known whose it is. */
function subjectLink(subject, account) {
  if (subject === null || subject === undefined) return [];
  const shown = isolated(visible(subject));
  return [account === null ? shown : Object.assign(link(customerAddress(subject, account), shown), { tabIndex: 0 })];
}
/* Puts a text into the clipboard, or where there is none, such as over plain HTTP from a phone, into a field to copy it from. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    $("detail").querySelector("textarea.copy")?.remove();
    const field = Object.assign(make("textarea", "", "copy"), {
      value: text,
      readOnly: true,
      rows: 6,
      ariaLabel: "The line for a shell",
    });
    $("detail").querySelector(".said").after(field);
    field.select();
    return false;
  }
}
function jumps(marks) {
  if (!marks.length) return [];
  const list = make("ul", "", "jumps"),
    number = (wanted) => marks.filter(({ kind }) => kind === wanted).length;
  for (const one of marks.slice(0, MAX_JUMPS)) {
    const jump = button("", () => one.element?.scrollIntoView({ block: "center" }));
    jump.append(isolated(one.pointer || "the body"), `: ${unhidden(one.message)}`);
    list.appendChild(make("li")).append(Object.assign(jump, { className: one.className }));
  }
  if (marks.length > MAX_JUMPS)
    list.append(make("li", `and ${marks.length - MAX_JUMPS} more, marked in the body`, "quiet"));
  const kinds = [
    ["error", "error"],
    ["break", "break of an event contract", "breaks of event contracts"],
    ["warning", "warning"],
  ]
    .filter(([kind]) => number(kind))
    .map(([kind, one, several]) =>
      several && number(kind) !== 1 ? `${number(kind)} ${several}` : counted(number(kind), one),
    );
  return [make("h3", kinds.join(", ")), list];
}
const headers = (pairs) => make("pre", pairs.map(([name, value]) => `${name}: ${value}`).join("\n"));
function marksOf({ responseBody, contractBreaks }) {
  const { fieldErrors = [], warnings = [] } = parsed(responseBody);
  const of = (findings, kind, className) => findings.map((finding) => ({ ...finding, kind, className }));
  return [
    ...of(fieldErrors, "error", "bad"),
    ...of(contractBreaks, "break", "warned"),
    ...of(warnings, "warning", "warned"),
  ];
}
function body(request, marks) {
  const [bytes, text] = [request.requestBytes, request.requestBody];
  if (!text)
    return make(
      "p",
      bytes === null
        ? "The body did not arrive whole, or is larger than API Gateway accepts: see Why."
        : text === null
          ? `${bytes} bytes that are not text, or not kept.`
          : "No body.",
      "quiet",
    );
  const { detail } = parsed(request.responseBody),
    place = request.code === "malformed-json" && /line (\d+), column (\d+)/.exec(detail);
  return place ? malformed(text, Number(place[1]), Number(place[2]), detail) : pretty(text, marks);
}
/* Columns count the bytes of a line, as serde_json does. */
function malformed(text, line, column, sentence) {
  const lines = text.split("\n"),
    pre = make("pre");
  const bytes = new TextEncoder().encode(lines[line - 1] ?? ""),
    decode = (part) => new TextDecoder().decode(part);
  const before = decode(bytes.slice(0, column - 1)),
    at = [...decode(bytes.slice(Math.max(column - 1, 0)))][0] ?? "␤";
  const context = lines
    .slice(Math.max(line - 20, 0), line - 1)
    .map((shown) => shown.slice(0, 400) + "\n")
    .join("");
  const after = (lines[line - 1] ?? "").slice(before.length + at.length).slice(0, 400);
  const following = lines
    .slice(line, line + 20)
    .join("\n")
    .slice(0, 4000);
  pre.append(
    unhidden(context),
    unhidden(before.slice(-2000)),
    make("mark", at, "bad"),
    make("mark", sentence, "bad note"),
    "\n",
    unhidden(after) + "\n",
    unhidden(following),
  );
  return pre;
}
