// What is stored, of the account that is chosen.

let accounts = [];
const chosenOf = { list: "", stored: "dev" }; // The list has the requests of all accounts at first.
const view = () => document.querySelector("nav [aria-current=page]").dataset.view;
const kind = () => (view() === "requests" ? "list" : "stored");
const chosen = () => (kind() === "list" ? chosenOf.list : "");
const ofAccount = (path) => `${path}?account=${encodeURIComponent(chosenOf.stored)}`;
/* The selector says what is shown: the requests of all accounts or of one, what is stored of one. */
async function listAccounts() {
  ({ accounts } = await get("accounts"));
  const options = accounts.map((account) => Object.assign(make("option", `Account ${account}`), { value: account }));
  if (kind() === "list") options.unshift(Object.assign(make("option", "All accounts"), { value: "" }));
  $("account").replaceChildren(...options);
  $("account").value = chosenOf[kind()];
  $("account").hidden = accounts.length < 2;
}
async function showCustomer() {
  const place = $("customer").lastElementChild;
  const id = customerId().value;
  setAddress(false, `#${new URLSearchParams({ view: "customer", id, account: chosenOf.stored })}`);
  if (!id)
    return place.replaceChildren(
      make("p", "Type the customerId of a customer, or the emitterId of a workflow step.", "quiet"),
    );
  try {
    const text = await call("GET", ofAccount(`customers/${encodeURIComponent(id)}`));
    const { profile, signals } = JSON.parse(text);
    const isStored = profile !== null || signals.length;
    const nothing = `Nothing is stored of ${visible(id)} in the account ${chosenOf.stored}.`;
    place.replaceChildren(isStored ? pretty(text) : make("p", nothing, "quiet"));
  } catch (error) {
    place.replaceChildren(make("pre", error.message, "bad"));
  }
}
async function refreshRejected(outcome = "") {
  const place = $("rejected").lastElementChild;
  setAddress(false, `#${new URLSearchParams({ view: "rejected", account: chosenOf.stored })}`);
  try {
    const text = await call("GET", ofAccount("rejected"));
    const nodes = parse(text).items.find(({ key }) => key === '"rejected"').node.items;
    const { rejected } = JSON.parse(text);
    const nothing = rejected.length ? "" : "No rejected signal is kept.";
    place.replaceChildren(make("p", [outcome, nothing].filter(Boolean).join(" "), "quiet said"));
    place.append(...rejected.map((signal, index) => rejectedCard(signal, nodes[index].node, text)));
  } catch (error) {
    place.replaceChildren(make("pre", error.message, "bad"));
  }
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
      refreshRejected("Redriven: the signal is stored.");
    } catch (error) {
      // The card stays as it was sent, with its errors.
      said.textContent = error.message;
      const marked = pretty(edited.value, marksIn(error.fieldErrors));
      shown.replaceWith(marked);
      shown = marked;
    }
  };
  actions.append(button("Redrive", redrive, "main"));
  const subject = signal.subjectId === null ? "no subject" : visible(signal.subjectId);
  const time = make("p", new Date(signal.receivedAt).toLocaleString(), "quiet");
  card.append(make("h2", subject), time, shown, edited, actions, said);
  return card;
}
/* The marks of errors in a signal. Their pointers lead through the request that had the signal. */
const marksIn = (errors) =>
  errors.map((error) => ({ ...error, pointer: error.pointer.replace(/^\/signals\/\d+/, ""), className: "bad" }));
const customerId = () => $("customer").firstElementChild.elements.id;
$("customer").firstElementChild.addEventListener("submit", (event) => {
  event.preventDefault();
  showCustomer();
});
$("refresh").addEventListener("click", () => refreshRejected());
$("account").addEventListener("change", () => {
  chosenOf[kind()] = $("account").value;
  showView();
});
$("all").addEventListener("click", () => {
  $("filter").value = $("account").value = chosenOf.list = "";
  drawRows();
  setAddress();
  $("filter").focus();
});
