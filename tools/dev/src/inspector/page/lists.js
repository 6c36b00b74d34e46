// The list of signals and the list of requests.

const MAX_TYPES = 8;

const cell = (className, content, title) => {
  const made = Object.assign(make("span", "", className), { role: "gridcell" });
  made.append(...content.map((part) => (typeof part === "string" ? unhidden(part) : part)));
  if (title) made.title = unhidden(title);
  return made;
};
/* A link in a row, which is no stop of Tab: keys lead there. */
const link = (href, ...content) => {
  const made = Object.assign(make("a"), { href, tabIndex: -1 });
  made.append(...content);
  return made;
};
const customerAddress = (id, account) => `#${new URLSearchParams({ view: "customers", ...(id && { id }), account })}`;
const colored = ([parts, className]) => {
  const made = make("span", "", className);
  made.append(...parts.map((part) => isolated(unhidden(part))));
  return made;
};
const between = (separator, parts) => parts.flatMap((part, index) => (index ? [separator, part] : [part]));
const plain = (said) => said.map(([parts]) => parts.join("")).join(" · ");
const clock = (time) => new Date(time).toLocaleTimeString();
const status = (request) =>
  make("span", request.status, `chip ${request.status >= 400 ? "bad" : request.rejected ? "warned" : "good"}`);
const VERDICTS = { stored: "good", deferred: "warned", rejected: "bad", refused: "bad" };
const verdict = (name) => make("span", name, `chip ${VERDICTS[name]}`);
const outcomeOf = (request) => {
  const made = make("span");
  const shown = outcomes(request).map(([text, className]) => make("span", text, className));
  made.append(...between(", ", shown));
  return made;
};
/* The types of the signals of a request, as parts of a text. */
function typeParts(request, most = Infinity) {
  const names = [...types(request)];
  const shown = names
    .slice(0, most)
    .flatMap(([name, count], index) => [index ? ", " : "", isolated(visible(name)), count > 1 ? ` ×${count}` : ""]);
  return names.length > most ? [...shown, ` and ${names.length - most} more`] : shown;
}
/* The row of a signal, or the heading of the signals of a request. */
function makeSignalRow(key) {
  const request = requestOf(key);
  if (key.endsWith(".head")) return makeHead(request);
  const signal = request.signals[Number(key.split(".")[1])];
  const row = make("div", "", request.signals.length > 1 ? "row of-group" : "row");
  const { type, subject } = signal;
  const said = whyOfSignal(request, signal);
  const shownType = type === undefined ? make("span", "no type", "quiet") : isolated(visible(type));
  const shownSubject = subject === undefined ? "" : isolated(visible(subject));
  const isStored = subject !== undefined && request.account !== null;
  row.append(
    cell("type", [shownType], type),
    cell("subject", [isStored ? link(customerAddress(subject, request.account), shownSubject) : shownSubject], subject),
    cell("verdict", [verdict(signal.verdict)]),
    cell("ms", [`${request.durationMs} ms`]),
    cell("why", between(" · ", said.map(colored)), plain(said)),
    cell("account", [request.account ?? ""], request.account),
    cell("time", [clock(request.time)]),
    cell("n", [link(`#${request.n}`, `#${request.n}`)], "The request"),
  );
  return row;
}
function makeHead(request) {
  const row = make("div", "", "row head-of-group");
  const shown = matchingSignals(request)?.length;
  const number = counted(request.signals.length, "signal");
  const path = isolated(unhidden(`${request.method} ${request.path}`));
  const content = cell("group", [status(request), link(`#${request.n}`, `#${request.n} `, path)]);
  content.append(
    make("span", shown === undefined ? number : `${shown} of ${number}`),
    outcomeOf(request),
    make("span", `${request.durationMs} ms`, "quiet"),
    make("span", clock(request.time), "quiet"),
  );
  content.setAttribute("aria-colspan", 8);
  row.append(content);
  return row;
}
function makeRequestRow(key) {
  const request = requestOf(key);
  const row = make("div", "", "row");
  const said = why(request);
  const all = typeParts(request).map((part) => part.textContent ?? part);
  row.append(
    cell("status", [status(request)]),
    cell("request", [`${request.method} `, isolated(unhidden(request.path))], `${request.method} ${request.path}`),
    cell("outcome", [outcomeOf(request)]),
    cell("why", between(" · ", said.map(colored)), plain(said)),
    cell("type", typeParts(request, MAX_TYPES), all.slice(0, 100).join("")),
    cell("subject", request.subject === null ? [] : [isolated(visible(request.subject))], request.subject),
    cell("account", [request.account ?? ""], request.account),
    cell("ms", [`${request.durationMs} ms`]),
    cell("time", [clock(request.time)]),
    cell("n", [`#${request.n}`]),
  );
  row.dataset.n = request.n;
  return row;
}
const lists = {
  signals: new List(
    $("signals"),
    Object.entries({
      type: "Type",
      subject: "Subject",
      verdict: "Verdict",
      ms: "Took",
      why: "Why",
      account: "Account",
      time: "Time",
      n: "#",
    }),
    makeSignalRow,
  ),
  requests: new List(
    $("requests"),
    Object.entries({
      ...{ status: "Status", request: "Request", outcome: "Outcome", why: "Why", type: "Type", subject: "Subject" },
      ...{ account: "Account", ms: "Took", time: "Time", n: "#" },
    }),
    makeRequestRow,
  ),
};
/* The list that is shown, if one is. */
const shownList = () => lists[view()];
/* The signals that match, those of a request together under a heading, unless it has only one. */
function signalSource() {
  const groups = [];
  const wanted = words();
  let count = 0;
  for (const request of requests) {
    const places = matchingSignals(request, wanted);
    const size = places?.length ?? request.signals.length;
    if (!size) continue;
    const heads = request.signals.length > 1 ? 1 : 0;
    groups.push({ n: request.n, places, heads, start: count });
    count += size + heads;
  }
  const groupAt = (place) => groups[firstWhere(groups.length, (at) => groups[at].start > place) - 1];
  const isHead = (place) => place >= 0 && place < count && groupAt(place).heads === 1 && groupAt(place).start === place;
  const keyAt = (place) => {
    if (place < 0 || place >= count) return null;
    if (isHead(place)) return `${groupAt(place).n}.head`;
    const { n, places, heads, start } = groupAt(place);
    const at = place - start - heads;
    return `${n}.${places ? places[at] : at}`;
  };
  const placeOf = (key) => {
    const n = numberOf(key);
    const group = groups[firstWhere(groups.length, (at) => groups[at].n <= n)];
    if (group?.n !== n) return -1;
    const { places, heads, start } = group;
    if (key.endsWith(".head")) return heads ? start : -1;
    const index = Number(key.split(".")[1]);
    const size = requestOf(key).signals.length;
    const at = places ? places.indexOf(index) : index < size ? index : -1;
    return at < 0 ? -1 : start + heads + at;
  };
  return { count, keyAt, placeOf, isHead };
}
function requestSource() {
  const wanted = words();
  const shown = requests.filter((request) => matchesRequest(request, wanted));
  const placeOf = (key) => {
    const n = Number(key);
    const place = firstWhere(shown.length, (at) => shown[at].n <= n);
    return shown[place]?.n === n ? place : -1;
  };
  return {
    count: shown.length,
    keyAt: (place) => (shown[place] ? String(shown[place].n) : null),
    placeOf,
    isHead: () => false,
  };
}
/* Draws the list that is shown. Its rows stay if there are only more of them. */
function drawLists(isAnew = true) {
  const list = shownList();
  if (!list) return;
  const focused = document.activeElement?.closest("[role=row]")?.dataset.key;
  const several = new Set([...accounts, ...requests.map(({ account }) => account)].filter(Boolean)).size > 1;
  document.querySelector("main").classList.toggle("several", several);
  const source = view() === "signals" ? signalSource() : requestSource();
  list.section.hidden = source.count === 0;
  list.update(source, isAnew);
  if (focused) list.drawn.get(focused)?.focus({ preventScroll: true });
  drawEmpty();
}
/* A sentence in place of an empty list. */
function drawEmpty() {
  const list = shownList();
  const thing = view() === "signals" ? "signal" : "request";
  const number =
    view() === "signals" ? requests.reduce((sum, { signals }) => sum + signals.length, 0) : requests.length;
  const isEmpty = Boolean(list) && list.source.count === 0;
  $("why-empty").textContent = clears ? `Cleared. The next ${thing} appears here.` : `No ${thing} yet.`;
  $("empty").hidden = !isEmpty || number > 0;
  $("nothing").hidden = !isEmpty || number === 0;
  const filter = $("filter").value.trim();
  const wanted = [filter && `"${filter}"`, chosen() && `the account ${chosen()}`].filter(Boolean).join(" and ");
  $("unmatched").textContent = `None of the ${counted(number, thing)} matches ${wanted}.`;
}
/* Draws the lists for another filter. */
async function filterLists() {
  drawLists();
  setAddress();
  if (!words().some(({ body }) => body)) return;
  try {
    await findTexts();
  } catch (error) {
    return; // A poll says that the stack does not answer.
  }
  drawLists();
}
$("filter").addEventListener("input", filterLists);
$("all").addEventListener("click", () => {
  $("filter").value = $("account").value = chosenOf.list = "";
  filterLists();
  $("filter").focus();
});
/* Saves what is shown, a line for each request or signal. */
$("export").addEventListener("click", async () => {
  const name = view();
  const lines =
    name === "requests" ? requests.filter((one) => matchesRequest(one)).map(exportedRequest) : await exportedSignals();
  const href = URL.createObjectURL(
    new Blob(
      lines.map((line) => `${line}\n`),
      { type: "application/x-ndjson" },
    ),
  );
  Object.assign(document.createElement("a"), { href, download: `${name}.ndjson` }).click();
  URL.revokeObjectURL(href);
});
function exportedRequest(request) {
  const { signals, text, textOfAll, ...facts } = request;
  return JSON.stringify({
    ...facts,
    subjects: [...subjects(request)].filter(Boolean),
    types: Object.fromEntries(types(request)),
  });
}
/* Each signal as it was sent, with what became of it. */
async function exportedSignals() {
  const lines = [];
  for (const request of requests) {
    const places = matchingSignals(request) ?? request.signals.keys();
    let sent;
    for (const index of places) {
      // Of a request that is no longer kept, only the row is left.
      sent ??= await sentRequest(request.n).catch(() => ({ signalText: () => undefined }));
      const { type = null, subject = null, verdict } = request.signals[index];
      const { n, time, durationMs, account, requestIdentifier } = request;
      const facts = JSON.stringify({
        request: n,
        index,
        time,
        durationMs,
        account,
        requestIdentifier,
        type,
        subject,
        verdict,
      });
      lines.push(`${facts.slice(0, -1)},"signal":${sent.signalText(index) ?? "null"}}`);
    }
  }
  return lines;
}
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", paused);
  say(paused ? "Paused: what arrives now appears when you continue." : "");
});
$("clear").addEventListener("click", async () => {
  await call("DELETE", "requests");
  clears++;
  requests = [];
  say("");
  for (const list of Object.values(lists)) list.selected = null;
  drawLists();
  close();
});
