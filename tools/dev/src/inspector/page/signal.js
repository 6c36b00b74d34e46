// One signal: what it is, what became of it, and where it came from.

/* The elements that show a signal. */
function signalParts(key, { request, signalText }) {
  const index = Number(key.split(".")[1]);
  const signal = requestOf(key)?.signals[index] ?? {};
  const { type, subject } = signal;
  const text = signalText(index);
  const marks = marksOfSignal(request, index);
  const title = make("div", "", "title");
  const heading = make("h2");
  heading.append(type === undefined ? "A signal without a type" : isolated(visible(type)));
  title.append(...(signal.verdict ? [verdict(signal.verdict)] : []), heading);
  const path = isolated(unhidden(`${request.method} ${request.path}`));
  const toRequest = Object.assign(link(`#${request.n}`, `#${request.n} `, path), { tabIndex: 0 });
  const place = `, ${index + 1} of ${counted(request.received ?? requestOf(key)?.signals.length ?? 1, "signal")}`;
  const facts = factList([
    ["Why", request.status >= 400 ? [request.code, request.reason].filter(Boolean).join(": ") : ""],
    ["Subject", ...subjectLink(subject, request.account)],
    ["Account", request.account ?? "none"],
    ["Time", `${clock(request.time)}, ${request.durationMs} ms`],
    ["Request", toRequest, place],
    ["Identifier", request.requestIdentifier ?? ""],
  ]);
  const actions = make("p", "", "actions");
  const said = make("p", "", "quiet said");
  const copy = async () => {
    said.textContent = (await copied(text)) ? "Copied." : "Copy it from here:";
  };
  actions.append(
    button("Open the request", () => (location.hash = `#${request.n}`), "main"),
    ...(text === undefined ? [] : [button("Copy as JSON", copy)]),
    button("Close", close, "last"),
  );
  const shown = text === undefined ? body(request, marksOf(request)) : pretty(text, marks); // Makes the elements of the marks.
  const heads = text === undefined ? "Body of its request, as it was sent" : "Signal, as it was sent";
  return [title, facts, actions, said, ...jumps(marks), make("h3", heads), shown];
}
/* The marks of a request that are in one of its signals, with their places in it. */
function marksOfSignal(request, index) {
  const start = `/signals/${index}`;
  const isInside = ({ pointer }) => pointer === start || pointer?.startsWith(`${start}/`);
  return marksOf(request)
    .filter(isInside)
    .map((mark) => ({ ...mark, pointer: mark.pointer.slice(start.length) }));
}
