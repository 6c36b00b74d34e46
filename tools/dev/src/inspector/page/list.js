// The list of requests.

const MAX_ROWS = 500;
const MAX_TYPES = 8;
const POLL_MS = 1000;

let rows = [];
let last = 0;
let stack = null;
let paused = false;
let selected = null;
let clearedAt = 0;

async function poll() {
  if (!paused) {
    try {
      const answer = await get(`requests?after=${last}`);
      const isNew = stack !== null && answer.stack !== stack; // The stack was started again, and counts from 1.
      stack = answer.stack;
      if (isNew) forgetStack();
      rows = isNew ? [] : [...answer.requests.reverse(), ...rows].slice(0, MAX_ROWS);
      if (isNew || answer.requests.length) drawRows();
      last = isNew ? 0 : answer.last;
      const areOlderGone = answer.oldest > clearedAt + 1 && rows.length;
      $("older").textContent = areOlderGone ? `Older requests than #${answer.oldest} are no longer kept.` : "";
      $("state").textContent = "";
      if (answer.requests.some(({ account }) => account && !accounts.includes(account))) await listAccounts();
      drawEmpty();
    } catch (error) {
      $("state").textContent = "The local stack does not answer. Is it still running?";
    }
  }
  setTimeout(poll, POLL_MS);
}
/* Another stack has other requests under the numbers of this one. */
function forgetStack() {
  clearedAt = 0;
  if (view() === "requests") close();
  selected = null;
}
/* A sentence in place of an empty list. */
function drawEmpty() {
  $("why-empty").textContent = clearedAt ? "Cleared. The next request appears here." : "No request yet.";
  $("empty").hidden = rows.length > 0;
  $("nothing").hidden = rows.length === 0 || $("rows").childElementCount > 0;
  $("table").hidden = $("rows").childElementCount === 0;
  const wanted = [$("filter").value.trim() && `"${$("filter").value.trim()}"`, chosen() && `the account ${chosen()}`]
    .filter(Boolean)
    .join(" and ");
  $("unmatched").textContent = `None of the ${rows.length} requests matches ${wanted}.`;
}
/* Whether the row has each word of the filter in one of its columns, or in an id. */
function matches(row) {
  if (chosen() && row.account !== chosen()) return false;
  const ids = [`#${row.n}`, row.code, row.requestId, row.requestIdentifier];
  const columns = [row.method, row.path, row.status, outcome(row), row.account, row.subject, ...Object.keys(row.types)];
  const text = [...ids, ...columns, ...why(row).map(([said]) => said)].join(" ").toLowerCase();
  const isFound = (word) => (/^[1-5]xx$/.test(word) ? String(row.status)[0] === word[0] : text.includes(word));
  return $("filter").value.toLowerCase().split(/\s+/).every(isFound);
}
const OUTCOMES = { accepted: "good", rejected: "bad", deferred: "warned", created: "good", updated: "good" };
/* What became of an update of a customer, or of the signals, each with its class. */
function outcomes(row) {
  if (row.result !== null) return [[row.result, OUTCOMES[row.result] ?? ""]];
  if (row.received === null) return [];
  const counts = ["accepted", "rejected", "deferred"].filter((name) => row[name] || name === "accepted");
  const shown = counts.map((name) => [`${row[name]} ${name}`, row[name] ? OUTCOMES[name] : ""]);
  return row.replayed ? [...shown, ["replayed", ""]] : shown;
}
const outcome = (row) =>
  outcomes(row)
    .map(([text]) => text)
    .join(", ");
/* What is to be said of a request, each with its class: why it was refused, its first error, the first break of an event
   contract, its first warning. */
function why(row) {
  const said = [row.code === "validation-failed" ? "" : row.code, row.reason].filter(Boolean).join(" · ");
  const first = (number, code, pointer) => `${code} ${pointer || "(the body)"}${number > 1 ? ` (+${number - 1})` : ""}`;
  const [broken] = row.contractBreaks;
  const isWarning = row.warnings && !row.errors && !broken;
  return [
    [said, row.status >= 400 ? "bad" : "warned"],
    [row.errors ? first(row.errors, row.fieldCode, row.pointer) : "", "bad"],
    [broken ? first(row.contractBreaks.length, broken.code, broken.pointer) : "", "warned"],
    [
      isWarning
        ? first(row.warnings, row.fieldCode, row.pointer)
        : row.warnings
          ? counted(row.warnings, "warning")
          : "",
      "warned",
    ],
  ].filter(([text]) => text);
}
const status = (number) => make("span", number, `status ${number >= 400 ? "bad" : "good"}`);
function types(row, most) {
  const shown = ([name, count]) => visible(name) + (count > 1 ? ` ×${count}` : "");
  const names = Object.entries(row.types).map(shown);
  return names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
}
function drawRows() {
  const focused = Number(document.activeElement?.closest("tr")?.dataset.n);
  const found = rows.filter(matches);
  const current = [focused, selected].find((n) => found.some((row) => row.n === n)) ?? found[0]?.n;
  $("rows").replaceChildren(
    ...found.map((row) => {
      const line = make("tr");
      const cell = (className, label, ...content) => {
        const made = make("td", "", className + (content.some((part) => part?.textContent ?? part) ? "" : " is-empty"));
        if (label) made.dataset.label = label;
        made.append(...content);
        return made;
      };
      const outcome = make("div");
      outcomes(row).forEach(([text, className], index) =>
        outcome.append(index ? ", " : "", make("span", text, className)),
      );
      line.append(
        cell("n", "", `#${row.n}`),
        cell("time", "Time", new Date(row.time).toLocaleTimeString()),
        cell("request", "", `${row.method} ${row.path}`),
        cell("status-of", "", status(row.status)),
        cell("outcome", "Outcome", outcome),
        cell("why", "Why", ...why(row).map(([text, className]) => make("div", text, className))),
        cell("account", "Account", row.account ?? ""),
        cell("subject", "Subject", row.subject === null ? "" : visible(row.subject)),
        cell("types", "Type", types(row, MAX_TYPES)),
      );
      line.tabIndex = row.n === current ? 0 : -1; // One row is in the order of Tab: the detail comes after it.
      line.dataset.n = row.n;
      line.setAttribute("aria-selected", row.n === selected);
      return line;
    }),
  );
  $("table").classList.toggle(
    "several",
    new Set([...accounts, ...rows.map((row) => row.account)].filter(Boolean)).size > 1,
  );
  $("rows").querySelector(`[data-n="${focused}"]`)?.focus();
  drawEmpty();
}
$("rows").addEventListener("click", (event) => open(Number(event.target.closest("tr").dataset.n)));
$("filter").addEventListener("input", drawRows);
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", paused);
  say(paused ? "Paused: requests that arrive now appear when you continue." : "");
});
$("clear").addEventListener("click", async () => {
  await call("DELETE", "requests");
  rows = [];
  clearedAt = last;
  say("");
  close();
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape" && event.target === $("filter")) {
      event.target.value = "";
      drawRows();
    }
    return event.key === "Escape" && event.target.blur();
  }
  // These two keys lead out of the detail, which the others scroll.
  if (event.target.closest("#detail") && !["Escape", "/"].includes(event.key)) return;
  const line = event.target.closest("tr[data-n]");
  const next = { ArrowDown: line?.nextElementSibling, ArrowUp: line?.previousElementSibling }[event.key];
  if (next) {
    next.focus();
    event.preventDefault();
    if (selected !== null) open(Number(next.dataset.n));
  } else if (event.key === "Enter" && line) open(Number(line.dataset.n));
  else if (event.key === "Tab" && !event.shiftKey && line) {
    event.preventDefault();
    open(Number(line.dataset.n)).then(() => $("detail").querySelector(".actions button")?.focus());
  } else if (event.key === "ArrowDown" && !line) $("rows").firstElementChild?.focus();
  else if (event.key === "Escape") close();
  else if (event.key === "/") {
    $("filter").focus();
    event.preventDefault();
  } else if (event.key === "p" && !event.ctrlKey && !event.metaKey) $("pause").click();
});
