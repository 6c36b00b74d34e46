// The rejected signals that are stored, of the account that is chosen.

/* As many as the stack lists. */
const MAX_REJECTED = 100;

/* The card of each rejected signal, by its id: one that is being edited stays. */
const cards = new Map();

/* Shows the rejected signals as they are now, and says what came of a redrive. */
async function refreshRejected(outcome) {
  const said = $("rejected").querySelector(".said");
  if (outcome !== undefined) said.dataset.outcome = outcome;
  const account = chosenOf.stored;
  let text;
  try {
    text = await call("GET", ofAccount("rejected"));
  } catch (error) {
    return (said.textContent = error.message);
  }
  if (account !== chosenOf.stored) return;
  const nodes = parse(text).items.find(({ key }) => key === '"rejected"').node.items;
  const { rejected } = JSON.parse(text);
  const number = $("rejected-number");
  number.hidden = !rejected.length;
  number.textContent = ` ${rejected.length}${rejected.length === MAX_REJECTED ? "+" : ""}`;
  drawCards(
    rejected.map((signal, index) => ({ id: `${account} ${signal.id}`, signal, node: nodes[index].node, text })),
  );
  const nothing = rejected.length ? "" : "There are no rejected signals. A batch with strict handling stores none.";
  said.textContent = [said.dataset.outcome, nothing].filter(Boolean).join(" ");
}
/* Draws the cards of these entries. Those that are there already stay. */
function drawCards(entries) {
  const ids = new Set(entries.map(({ id }) => id));
  for (const id of [...cards.keys()]) if (!ids.has(id)) cards.delete(id);
  const list = $("rejected").lastElementChild;
  const wanted = entries.map(cardOf);
  for (const card of [...list.children]) if (!wanted.includes(card)) card.remove();
  wanted.forEach((card, index) => {
    if (list.children[index] !== card) list.insertBefore(card, list.children[index] ?? null);
  });
}
function cardOf({ id, signal, node, text }) {
  if (!cards.has(id)) cards.set(id, rejectedCard(signal, node, text));
  return cards.get(id);
}
/* A rejected signal, which can be edited and redriven. Its entry is a part of the text of the list. */
function rejectedCard(signal, entry, text) {
  const payload = entry.items.find(({ key }) => key === '"payload"').node;
  const stored = text.slice(payload.start, payload.end);
  const card = make("div", "", "card");
  const edited = make("textarea");
  const actions = make("p", "", "actions");
  const said = make("p", "", "bad said");
  let shown = pretty(stored, marksIn(signal.errors));
  Object.assign(edited, { value: indented(stored), rows: 5, ariaLabel: "Payload", spellcheck: false });
  const redrive = async () => {
    const sent = text.slice(entry.start, payload.start) + edited.value + text.slice(payload.end, entry.end);
    try {
      await call("POST", ofAccount("rejected/redrive"), sent);
      await refreshRejected("Redriven: the signal is stored.");
    } catch (error) {
      // The card stays as it was sent, with its errors.
      said.textContent = error.message;
      const marked = pretty(edited.value, marksIn(error.fieldErrors ?? []));
      shown.replaceWith(marked);
      shown = marked;
    }
  };
  actions.append(button("Redrive", redrive, "main"));
  const heading = make("h2");
  heading.append(signal.subjectId === null ? "no subject" : isolated(visible(signal.subjectId)));
  const origin = make("p", `${new Date(signal.receivedAt).toLocaleString()} · `, "quiet");
  origin.append(requestLink(signal));
  card.append(heading, origin, shown, edited, actions, said);
  return card;
}
/* Leads to the request with which a stored signal came, if that is kept. */
function requestLink({ requestIdentifier, index }) {
  const isIts = (request) =>
    request.account === chosenOf.stored &&
    request.requestIdentifier?.toLowerCase() === requestIdentifier?.toLowerCase();
  const request = requests.findLast(isIts);
  if (!request) return "its request is no longer in the list";
  return Object.assign(link(`#${request.n}.${index}`, `Request #${request.n}`), { tabIndex: 0 });
}
/* The marks of errors in a signal. Their pointers lead through the request that had the signal. */
const marksIn = (errors) =>
  errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/signals\/\d+/, ""), className: "bad" }));
