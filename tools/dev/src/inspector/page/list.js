// The list of requests.

const MAX_ROWS = 500;
const MAX_TYPES = 8;
const POLL_MS = 1000;

let rows = [];
let last = 0;
let stack = null;
let paused = false;
let selected = null;
let clears = 0;
/* The element of each row, by its number: a row that stays is not made again. */
const lines = new Map();

async function poll() {
  if (!paused) {
    try {
      let answer = await get(`requests?after=${last}`);
      // The stack was started again, and counts from 1; or requests were deleted, also by a test.
      const isNew = stack !== null && (answer.stack !== stack || answer.clears !== clears);
      if (isNew) {
        const isOther = answer.stack !== stack;
        answer = await get("requests?after=0");
        forget(isOther, answer.requests);
      }
      ({ stack, clears, last } = answer);
      rows = [...answer.requests.reverse(), ...rows].slice(0, MAX_ROWS);
      if (isNew || answer.requests.length) drawRows();
      const areOlderGone = answer.dropped && rows.length;
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
function forget(isOtherStack, kept) {
  rows = [];
  lines.clear();
  if (!isOtherStack && kept.some(({ n }) => n === selected)) return;
  if (view() === "requests") close();
  selected = null;
}
/* A sentence in place of an empty list. */
function drawEmpty() {
  $("why-empty").textContent = clears ? "Cleared. The next request appears here." : "No request yet.";
  $("empty").hidden = rows.length > 0;
  $("nothing").hidden = rows.length === 0 || $("rows").childElementCount > 0;
  $("table").hidden = $("rows").childElementCount === 0;
  const wanted = [$("filter").value.trim() && `"${$("filter").value.trim()}"`, chosen() && `the account ${chosen()}`]
    .filter(Boolean)
    .join(" and ");
  $("unmatched").textContent = `None of the ${rows.length} requests matches ${wanted}.`;
}
/* Whether the row has each word of the filter in one of its columns, or in an id, and no word after a hyphen. */
function matches(row) {
  if (chosen() && row.account !== chosen()) return false;
  const ids = [`#${row.n}`, `level:${level(row)}`, row.code, row.requestId, row.requestIdentifier];
  const columns = [row.method, row.path, row.status, outcome(row), row.account];
  const signals = [...row.subjects, ...Object.keys(row.types)];
  const said = why(row).map(([parts]) => parts.join(""));
  const text = [...ids, ...columns, ...signals, ...said].join(" ").toLowerCase();
  const isFound = (word) => (/^[1-5]xx$/.test(word) ? String(row.status)[0] === word[0] : text.includes(word));
  const words = $("filter").value.toLowerCase().split(/\s+/);
  return words.every((word) => (/^-./.test(word) ? !isFound(word.slice(1)) : isFound(word)));
}
/* How bad it is what is to be said of a request. */
function level(row) {
  const classes = why(row).map(([, className]) => className);
  return classes.includes("bad") ? "error" : classes.length ? "warning" : "ok";
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
  const first = (number, code, pointer) => [`${code} `, pointer || "(the body)", number > 1 ? ` (+${number - 1})` : ""];
  const [broken] = row.contractBreaks;
  const isWarning = row.warnings && !row.errors && !broken;
  return [
    [[said], row.status >= 400 ? "bad" : "warned"],
    [row.errors ? first(row.errors, row.fieldCode, row.pointer) : [], "bad"],
    [broken ? first(row.contractBreaks.length, broken.code, broken.pointer) : [], "warned"],
    [
      isWarning
        ? first(row.warnings, row.fieldCode, row.pointer)
        : row.warnings
          ? [counted(row.warnings, "warning")]
          : [],
      "warned",
    ],
  ].filter(([parts]) => parts.join(""));
}
const status = (row) =>
  make("span", row.status, `status ${row.status >= 400 ? "bad" : row.rejected ? "warned" : "good"}`);
/* The types of the signals, as parts of a text. */
function types(row, most = Infinity) {
  const names = Object.entries(row.types);
  const shown = names
    .slice(0, most)
    .flatMap(([name, count], index) => [index ? ", " : "", isolated(visible(name)), count > 1 ? ` ×${count}` : ""]);
  return names.length > most ? [...shown, ` and ${names.length - most} more`] : shown;
}
function drawRows() {
  const focused = Number(document.activeElement?.closest("tr")?.dataset.n);
  const found = rows.filter(matches);
  const current = [focused, selected].find((n) => found.some((row) => row.n === n)) ?? found[0]?.n;
  keepInPlace(() => {
    const wanted = found.map(lineOf);
    const kept = new Set(wanted);
    for (const line of [...$("rows").children]) if (!kept.has(line)) line.remove();
    wanted.forEach((line, index) => {
      const there = $("rows").children[index];
      if (there !== line) $("rows").insertBefore(line, there ?? null);
    });
    for (const line of wanted) {
      const n = Number(line.dataset.n);
      line.tabIndex = n === current ? 0 : -1; // One row is in the order of Tab: the detail comes after it.
      line.setAttribute("aria-selected", n === selected);
    }
  });
  $("table").classList.toggle(
    "several",
    new Set([...accounts, ...rows.map((row) => row.account)].filter(Boolean)).size > 1,
  );
  drawEmpty();
}
/* Changes the list, and keeps what is read in it where it is, unless that is the top. */
function keepInPlace(change) {
  const list = $("requests");
  const top = list.getBoundingClientRect().top;
  const isRead = (line) => line.getBoundingClientRect().bottom > top;
  const anchor = list.scrollTop > 0 ? [...$("rows").children].find(isRead) : undefined;
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor?.isConnected) list.scrollTop += anchor.getBoundingClientRect().top - before;
}
function lineOf(row) {
  const made = lines.get(row.n) ?? makeLine(row);
  lines.set(row.n, made);
  return made;
}
function makeLine(row) {
  const line = make("tr");
  const cell = (className, label, ...content) => {
    const isEmpty = !content.some((part) => part.textContent ?? part);
    const made = make("td", "", className + (isEmpty ? " is-empty" : ""));
    if (label) made.dataset.label = label;
    made.append(...content.map((part) => (typeof part === "string" ? unhidden(part) : part)));
    return made;
  };
  const outcome = make("div");
  outcomes(row).forEach(([text, className], index) => outcome.append(index ? ", " : "", make("span", text, className)));
  const reason = ([parts, className]) => {
    const made = make("div", "", className);
    made.append(...parts.map((part) => isolated(unhidden(part))));
    return made;
  };
  line.append(
    cell("n", "", `#${row.n}`),
    cell("time", "Time", new Date(row.time).toLocaleTimeString()),
    cell("request", "", `${row.method} `, isolated(row.path)),
    cell("status-of", "", status(row)),
    cell("outcome", "Outcome", outcome),
    cell("why", "Why", ...why(row).map(reason)),
    cell("account", "Account", row.account ?? ""),
    cell("subject", "Subject", row.subject === null ? "" : visible(row.subject)),
    cell("types", "Type", ...types(row, MAX_TYPES)),
  );
  line.dataset.n = row.n;
  return line;
}
$("rows").addEventListener("click", (event) => open(Number(event.target.closest("tr").dataset.n)));
$("filter").addEventListener("input", () => {
  drawRows();
  setAddress();
});
/* Saves what is shown, a line for each request. */
$("export").addEventListener("click", () => {
  const text = rows.filter(matches).map((row) => `${JSON.stringify(row)}\n`);
  const href = URL.createObjectURL(new Blob(text, { type: "application/x-ndjson" }));
  Object.assign(document.createElement("a"), { href, download: "requests.ndjson" }).click();
  URL.revokeObjectURL(href);
});
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", paused);
  say(paused ? "Paused: requests that arrive now appear when you continue." : "");
});
$("clear").addEventListener("click", async () => {
  await call("DELETE", "requests");
  clears++;
  rows = [];
  lines.clear();
  say("");
  close();
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape" && event.target === $("filter")) {
      event.target.value = "";
      drawRows();
      setAddress();
    }
    return event.key === "Escape" && event.target.blur();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  // These keys lead out of the detail, which the others scroll.
  if (event.target.closest("#detail") && !["Escape", "/", "?"].includes(event.key)) return;
  const line = event.target.closest("tr[data-n]");
  const next = nextLine(event.key, line);
  if (next) {
    next.focus();
    event.preventDefault();
    if (selected !== null) open(Number(next.dataset.n));
  } else if (event.key === "Enter" && line) open(Number(line.dataset.n));
  else if (event.key === "Escape") close();
  else if (event.key === "?") $("keys").showModal();
  else if (event.key === "/") {
    $("filter").focus();
    event.preventDefault();
  } else if (event.key === "p") $("pause").click();
});
/* The row to which a key leads from a row, or from elsewhere. */
function nextLine(key, line) {
  const { firstElementChild: first, lastElementChild: last } = $("rows");
  const down = line ? line.nextElementSibling : first;
  return {
    j: down,
    ArrowDown: down,
    k: line?.previousElementSibling,
    ArrowUp: line?.previousElementSibling,
    Home: first,
    End: last,
  }[key];
}
