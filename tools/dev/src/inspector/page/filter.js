// The filter: which requests and signals have each of its words.

/* The bodies that have a text, by the text: what the stack has found so far. */
let found = new Map();
/* The result for each request, until the filter changes. */
let filtered = { text: null, requests: new WeakMap(), signals: new WeakMap() };

/* The words of the filter. One after `body:` is looked for in bodies, as it stands there. */
const words = () =>
  $("filter")
    .value.split(/\s+/)
    .filter(Boolean)
    .map((text) => {
      const isNot = /^-./.test(text);
      const word = isNot ? text.slice(1) : text;
      const body = /^body:(.+)/i.exec(word)?.[1];
      return { isNot, body, word: word.toLowerCase() };
    });
/* Asks the stack which bodies have the texts of the filter. */
async function findTexts() {
  const texts = words().flatMap(({ body }) => body ?? []);
  const asked = new Map(texts.map((text) => [text, found.get(text) ?? { stack, clears, last: 0, matches: new Map() }]));
  found = asked;
  for (const [text, known] of asked) {
    if (known.stack !== stack || known.clears !== clears)
      Object.assign(known, { stack, clears, last: 0, matches: new Map() });
    if (known.last >= last) continue;
    const answer = await get(`rows/matches?${new URLSearchParams({ after: known.last, text })}`);
    for (const { n, signals } of answer.matches) known.matches.set(n, new Set(signals));
    known.last = answer.last;
    filtered.text = null;
  }
}
/* What is known of a request itself, as a text to look for a word in. */
const textOf = (request) =>
  (request.text ??= [
    `#${request.n}`,
    ...[request.code, request.reason, request.requestId, request.requestIdentifier],
    ...[request.method, request.path, request.status, request.account],
  ]
    .join(" ")
    .toLowerCase());
/* The same with what is shown of its signals. */
const textOfAll = (request) =>
  (request.textOfAll ??= [
    ...[textOf(request), `level:${levelOf(why(request))}`, outcome(request)],
    ...[...subjects(request), ...types(request).keys()],
    ...why(request).map(([parts]) => parts.join("")),
  ]
    .join(" ")
    .toLowerCase());
const textOfSignal = (request, { type = "", subject = "", verdict, code = "", pointer = "" }, level) =>
  `${type} ${subject} ${verdict} ${code} ${pointer} level:${level}`.toLowerCase();
const isStatus = (word, request) => /^[1-5]xx$/.test(word) && String(request.status)[0] === word[0];
/* The results of the filter as it is now. */
function resultsOfFilter() {
  const text = `${$("filter").value} ${chosen()}`;
  if (filtered.text !== text) filtered = { text, requests: new WeakMap(), signals: new WeakMap() };
  return filtered;
}
const isOfChosen = (request) => !chosen() || request.account === chosen();
function matchesRequest(request, wanted = words()) {
  const results = resultsOfFilter().requests;
  if (!results.has(request)) {
    const has = ({ word, body }) =>
      body ? found.get(body)?.matches.has(request.n) : isStatus(word, request) || textOfAll(request).includes(word);
    results.set(request, isOfChosen(request) && wanted.every((one) => Boolean(has(one)) !== one.isNot));
  }
  return results.get(request);
}
/* The places of the signals of a request that match, or null for all. */
function matchingSignals(request, wanted = words()) {
  const results = resultsOfFilter().signals;
  if (!results.has(request)) results.set(request, isOfChosen(request) ? findSignals(request, wanted) : []);
  return results.get(request);
}
function findSignals(request, wanted) {
  if (!wanted.length) return null;
  const places = [];
  const isInRequest = wanted.map(
    ({ word, body }) => !body && (isStatus(word, request) || textOf(request).includes(word)),
  );
  request.signals.forEach((signal, index) => {
    const text = textOfSignal(request, signal, levelOf(whyOfSignal(request, signal)));
    const has = ({ word, body }, place) =>
      body ? Boolean(found.get(body)?.matches.get(request.n)?.has(index)) : isInRequest[place] || text.includes(word);
    if (wanted.every((one, place) => has(one, place) !== one.isNot)) places.push(index);
  });
  return places.length === request.signals.length ? null : places;
}
