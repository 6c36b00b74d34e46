// What the page has of the requests and signals, and how it gets more.

const POLL_MS = 1000;

/* The requests with their signals, newest first. */
let requests = [];
let last = 0;
let oldest = 0;
let stack = null;
let clears = 0;
let paused = false;
/* Whether requests were deleted since the page had all. */
let isForgotten = false;

async function poll() {
  if (!paused) {
    try {
      await load();
      $("state").textContent = "";
    } catch (error) {
      $("state").textContent = "The local stack does not respond. Is it still running?";
    }
  }
  setTimeout(poll, POLL_MS);
}
/* Gets the rows that the page does not have yet, some thousands at once. */
async function load() {
  let isWhole = false;
  let areRejected = false;
  while (!isWhole) {
    const answer = await get(`rows?after=${last}`);
    // The stack was started again, and counts from 1; or requests were deleted, also by a test.
    const isOther = stack !== null && answer.stack !== stack;
    const isCleared = stack !== null && answer.clears !== clears;
    ({ stack, clears } = answer);
    if (isOther || isCleared) {
      forget(isOther);
      continue;
    }
    const { rows } = answer;
    last = rows.at(-1)?.n ?? answer.last;
    isWhole = last >= answer.last;
    const isDropped = requests.at(-1)?.n < answer.oldest;
    oldest = answer.oldest;
    if (rows.length || isDropped) requests = [...rows.reverse(), ...requests].filter((request) => request.n >= oldest);
    const areOlderGone = answer.dropped && requests.length;
    $("older").textContent = areOlderGone ? `Requests before #${oldest} are no longer in the list.` : "";
    if (isWhole && isForgotten) closeForgotten();
    areRejected ||= rows.some(({ rejected }) => rejected);
    if (rows.length || isDropped) await drawNew(rows);
    else drawEmpty();
  }
  if (areRejected) refreshRejected();
}
/* Another stack has other requests under the numbers of this one. */
function forget(isOther) {
  requests = [];
  last = 0;
  isForgotten = true;
  if (isOther) for (const list of Object.values(lists)) list.selected = null;
  refreshRejected();
  drawLists();
}
/* Closes what a reset has deleted. */
function closeForgotten() {
  isForgotten = false;
  for (const list of Object.values(lists))
    if (list.selected !== null && !requestOf(list.selected)) list.selected = null;
  if (shownList()?.selected === null) close();
}
/* Draws what has changed with these new requests. */
async function drawNew(rows) {
  if (rows.some(({ account }) => account && !accounts.includes(account))) await listAccounts();
  await findTexts();
  drawLists(false);
  const isShown = ({ subject }) => !shownCustomer || subject === shownCustomer;
  const isOfShown = (request) => isShown(request) || request.signals.some(isShown);
  if (view() === "customers" && rows.some(isOfShown)) drawCustomers();
}
const numberOf = (key) => Number(key.split(".")[0]);
/* The request of a row, if it is there. */
function requestOf(key) {
  const n = numberOf(key);
  const request = requests[firstWhere(requests.length, (place) => requests[place].n <= n)];
  return request?.n === n ? request : undefined;
}
/* The first place that has a property which all later places have, too, or the length. */
function firstWhere(length, has) {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (has(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
const OUTCOMES = { accepted: "good", rejected: "bad", deferred: "warned", created: "good", updated: "good" };
/* What became of an update of a customer, or of the signals, each with its class. */
function outcomes(request) {
  if (request.result !== null) return [[request.result, OUTCOMES[request.result] ?? ""]];
  if (request.received === null) return [];
  const counts = ["accepted", "rejected", "deferred"].filter((name) => request[name] || name === "accepted");
  const shown = counts.map((name) => [`${request[name]} ${name}`, request[name] ? OUTCOMES[name] : ""]);
  return request.replayed ? [...shown, ["replayed", ""]] : shown;
}
const outcome = (request) =>
  outcomes(request)
    .map(([text]) => text)
    .join(", ");
const first = (number, code, pointer) => [`${code} `, pointer || "(the body)", number > 1 ? ` (+${number - 1})` : ""];
/* Why a request was refused, in its own words. */
const refusal = ({ code, reason }) => [code === "validation-failed" ? "" : code, reason].filter(Boolean).join(" · ");
/* What is to be said of a request, each with its class: why it was refused, its first error, the first break of an event
   contract, its first warning. */
function why(request) {
  const breaks = request.signals.reduce((sum, signal) => sum + (signal.breaks ?? 0), 0);
  const broken = breaks && request.signals.find((signal) => signal.breaks);
  const { errors, warnings, fieldCode, pointer } = request;
  const said = [
    [[refusal(request)], request.status >= 400 ? "bad" : "warned"],
    [errors ? first(errors, fieldCode, pointer) : [], "bad"],
    [broken ? first(breaks, broken.code, broken.pointer) : [], "warned"],
  ];
  if (warnings && !errors && !broken) said.push([first(warnings, fieldCode, pointer), "warned"]);
  else if (warnings) said.push([[counted(warnings, "warning")], "warned"]);
  return said.filter(([parts]) => parts.join(""));
}
/* What is to be said of a signal: why its request was refused, its first error, break or warning. */
function whyOfSignal(request, signal) {
  const className = signal.errors ? "bad" : "warned";
  const number = signal.errors || signal.breaks || signal.warnings;
  const said = [];
  if (signal.verdict === "refused") said.push([[refusal(request)], "bad"]);
  // Without an error in a field, the code is that of the refusal.
  if (number && (signal.pointer || signal.verdict !== "refused"))
    said.push([first(number, signal.code, signal.pointer), className]);
  if (request.replayed) said.push([["replayed"], ""]);
  return said.filter(([parts]) => parts.join(""));
}
/* How bad it is what is to be said. */
function levelOf(said) {
  const classes = said.map(([, className]) => className);
  return classes.includes("bad") ? "error" : classes.includes("warned") ? "warning" : "ok";
}
/* How many signals of a request have each type. */
function types(request) {
  const names = new Map();
  for (const { type } of request.signals) if (type !== undefined) names.set(type, (names.get(type) ?? 0) + 1);
  return names;
}
/* The different customerIds and emitterIds of a request. */
const subjects = (request) =>
  request.signals.length
    ? new Set(request.signals.map(({ subject }) => subject ?? ""))
    : new Set([request.subject ?? ""]);
