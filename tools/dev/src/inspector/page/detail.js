// One request, with its headers and bodies.

const MAX_JUMPS = 100;

/* Selects a request, or none. Its address survives a reload, and Back closes what was opened. */
function show(n) {
  const isOpened = selected === null && n !== null;
  selected = n;
  setAddress(isOpened);
  $("detail").hidden = n === null;
  document.querySelector("main").classList.toggle("open", n !== null);
  drawRows();
  $("rows").querySelector(`[data-n="${n}"]`)?.scrollIntoView({ block: "nearest" });
}
const close = () => show(null);
async function open(n, note = "") {
  let request;
  try {
    request = await get(`requests/${n}`);
  } catch (error) {
    const newest = await get(`requests?after=${Number.MAX_SAFE_INTEGER}`);
    close();
    return say(n > newest.last ? `There is no request #${n} yet.` : `Request #${n} is no longer kept.`);
  }
  say("");
  show(n);
  const pane = $("detail");
  const encoding = request.requestHeaders.find(([name]) => name === "content-encoding");
  pane.dataset.n = n;
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
  const facts = make("dl");
  const fact = (name, ...content) => {
    if (!content.join("")) return;
    const value = make("dd");
    value.append(...content.map((part) => (typeof part === "string" ? unhidden(part) : part)));
    facts.append(make("dt", name), value);
  };
  fact("Why", [request.code, request.reason].filter(Boolean).join(": "));
  fact("Outcome", outcome(request));
  fact("Types", ...types(request));
  fact("Account", request.account ?? "none");
  fact("Time", `${new Date(request.time).toLocaleTimeString()}, ${request.durationMs} ms`);
  fact("Identifier", request.requestIdentifier ?? "");
  fact("x-request-id", request.requestId ?? "none");
  const shown = body(request, marks); // Makes the elements of the marks.
  pane.replaceChildren(
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
  );
  pane.scrollTop = 0;
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
