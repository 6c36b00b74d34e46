// The customers that were seen, and one of them: the profile, and what came of it on a time line.

const MAX_CUSTOMERS = 200;
const MAX_EVENTS = 200;

const customerForm = () => $("customers").firstElementChild;
const customerId = () => customerForm().elements.id;
/* The customer that is shown, or an empty string. */
let shownCustomer = "";

function showCustomers(id) {
  shownCustomer = id;
  customerId().value = unhidden(id) === id ? id : ""; // A field cannot show escapes.
  setAddress();
  return drawCustomers();
}
function drawCustomers() {
  customerForm().querySelector("a").hidden = !shownCustomer;
  return shownCustomer ? drawCustomer(shownCustomer) : drawSeen();
}
/* The customers and emitters of the kept requests of the account, the one seen last first. */
function drawSeen() {
  const seen = new Map();
  const see = (id, time) => {
    if (id === undefined || id === null) return {};
    if (!seen.has(id)) seen.set(id, { id, time, signals: 0, rejected: 0, updates: 0 });
    return seen.get(id);
  };
  for (const request of requests) {
    if (request.account !== chosenOf.stored) continue;
    if (!request.signals.length) see(request.subject, request.time).updates++;
    for (const { subject, verdict } of request.signals) {
      const customer = see(subject, request.time);
      customer.signals++;
      if (verdict === "rejected") customer.rejected++;
    }
  }
  const wanted = customerId().value.toLowerCase();
  const found = [...seen.values()].filter(({ id }) => id.toLowerCase().includes(wanted));
  const list = make("ul", "", "customers");
  for (const customer of found.slice(0, MAX_CUSTOMERS)) list.append(seenLine(customer));
  const more = found.length - MAX_CUSTOMERS;
  const sentence = seen.size
    ? `${counted(found.length, "customer")} of the requests in the list${more > 0 ? `; ${more} more than are shown` : ""}`
    : "No customer was seen yet. Type the customerId of a customer that is stored, or the emitterId of a workflow step.";
  place().replaceChildren(make("p", sentence, "quiet"), list);
}
function seenLine({ id, time, signals, rejected, updates }) {
  const line = make("li");
  const shown = Object.assign(link(customerAddress(id, chosenOf.stored), isolated(visible(id))), { tabIndex: 0 });
  shown.title = unhidden(id);
  const numbers = make("span", "", "quiet");
  numbers.append(
    ...between(", ", [
      ...(signals ? [counted(signals, "signal")] : []),
      ...(rejected ? [make("span", `${rejected} rejected`, "bad")] : []),
      ...(updates ? [counted(updates, "update")] : []),
    ]),
  );
  line.append(shown, numbers, make("span", clock(time), "quiet"));
  return line;
}
const place = () => $("customers").lastElementChild;
async function drawCustomer(id) {
  const account = chosenOf.stored;
  let text;
  try {
    text = await call("GET", ofAccount(`customers/${encodeURIComponent(id)}`));
  } catch (error) {
    return place().replaceChildren(make("pre", error.message, "bad"));
  }
  if (id !== shownCustomer || account !== chosenOf.stored) return;
  const parts = Object.fromEntries(parse(text).items.map(({ key, node }) => [JSON.parse(key), node]));
  const { profile, signals } = JSON.parse(text);
  const stored = signals.map((signal, index) => {
    const node = parts.signals.items[index].node;
    return { ...signal, text: text.slice(node.start, node.end) };
  });
  const events = eventsOf(id, account, stored);
  const heading = make("h2");
  heading.append(isolated(visible(id)));
  if (profile === null && !events.length)
    return place().replaceChildren(
      heading,
      make("p", `Nothing is stored of ${visible(id)} in the account ${account}.`, "quiet"),
    );
  const profileText = profile && text.slice(parts.profile.start, parts.profile.end);
  const list = make("ol", "", "events");
  list.append(...events.slice(0, MAX_EVENTS).map(eventLine));
  place().replaceChildren(
    heading,
    make("h3", "Profile"),
    profile ? pretty(profileText) : make("p", "There is no profile.", "quiet"),
    make("h3", "Time line, newest first"),
    list,
  );
  if (events.length > MAX_EVENTS) place().append(make("p", `and ${events.length - MAX_EVENTS} earlier ones`, "quiet"));
}
const identity = (requestIdentifier, index) => `${requestIdentifier?.toLowerCase()} ${index}`;
/* What came of a customer: the newest stored signals, and what else the kept requests have of it. Newest first. */
function eventsOf(id, account, stored) {
  const unseen = new Map(stored.map((signal) => [identity(signal.requestIdentifier, signal.index), signal]));
  const events = [];
  for (const request of [...requests].reverse()) {
    if (request.account !== account) continue;
    const { n, time, durationMs } = request;
    if (!request.signals.length && request.subject === id) {
      const said = request.result
        ? `profile ${request.result}`
        : `update refused: ${refusal(request) || request.fieldCode}`;
      events.push({
        time,
        durationMs,
        name: said,
        className: request.result ? (OUTCOMES[request.result] ?? "") : "bad",
        key: String(n),
      });
    }
    request.signals.forEach((signal, index) => {
      if (signal.subject !== id) return;
      const key = identity(request.requestIdentifier, index);
      const { text } = unseen.get(key) ?? {};
      unseen.delete(key);
      const className = VERDICTS[signal.verdict];
      const { type, verdict } = signal;
      events.push({
        time,
        durationMs,
        type,
        verdict,
        isReplay: request.replayed,
        className,
        key: `${n}.${index}`,
        text,
      });
    });
  }
  for (const signal of unseen.values())
    events.push({
      ...{ time: Date.parse(signal.receivedAt), type: signal.eventType ?? signal.stepNodeId, verdict: "stored" },
      ...{ className: "good", text: signal.text },
    });
  return events.sort((one, other) => other.time - one.time);
}
function eventLine({ time, durationMs, name, type, verdict: word, isReplay, className, key, text }) {
  const line = make("li", "", className);
  const what = name ? make("b", name) : make("b");
  if (!name) what.append(type === undefined ? "a signal without a type" : isolated(visible(type)));
  const parts = [make("time", new Date(time).toLocaleString(), "quiet"), what];
  if (word) parts.push(verdict(word));
  if (isReplay) parts.push(make("span", "replayed", "quiet"));
  if (durationMs !== undefined) parts.push(make("span", `${durationMs} ms`, "quiet"));
  if (key) parts.push(Object.assign(link(`#${key}`, `#${numberOf(key)}`), { tabIndex: 0 }));
  line.append(...parts);
  if (text) line.append(openable("As it is stored", () => pretty(text)));
  return line;
}
/* What is made only when it is opened. */
function openable(title, content) {
  const details = make("details");
  details.append(make("summary", title));
  details.addEventListener("toggle", () => details.childElementCount > 1 || details.append(content()));
  return details;
}
customerForm().addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = customerAddress(customerId().value, chosenOf.stored);
});
customerId().addEventListener("input", () => {
  if (!shownCustomer) drawSeen();
});
