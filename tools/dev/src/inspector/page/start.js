// The tabs of the page, its accounts and addresses, and its start.

const VIEWS = ["signals", "requests", "customers", "rejected"];

let accounts = [];
const chosenOf = { list: "", stored: "dev" }; // The lists have the requests of all accounts at first.
const view = () => document.querySelector("nav [aria-current=page]").dataset.view;
const isList = (name = view()) => name === "signals" || name === "requests";
const kind = () => (isList() ? "list" : "stored");
const chosen = () => (isList() ? chosenOf.list : "");
const ofAccount = (path) => `${path}?account=${encodeURIComponent(chosenOf.stored)}`;
async function listAccounts() {
  ({ accounts } = await get("accounts"));
  drawAccounts();
}
/* The selector says what is shown: the requests of all accounts or of one, what is stored of one. */
function drawAccounts() {
  const options = accounts.map((account) => Object.assign(make("option", `Account ${account}`), { value: account }));
  if (isList()) options.unshift(Object.assign(make("option", "All accounts"), { value: "" }));
  $("account").replaceChildren(...options);
  $("account").value = chosenOf[kind()];
  $("account").hidden = accounts.length < 2;
}
/* Shows what belongs to the tab. */
function showView() {
  const name = view();
  if (name === "customers") return showCustomers(shownCustomer);
  if (name === "rejected") {
    setAddress();
    return refreshRejected("");
  }
  const { selected } = shownList();
  drawLists();
  return selected === null ? show(null) : open(selected);
}
function chooseView(name) {
  opened++; // What is still on its way belongs to another tab.
  for (const tab of document.querySelectorAll("nav button"))
    tab.setAttribute("aria-current", tab.dataset.view === name ? "page" : "false");
  for (const section of VIEWS) $(section).hidden = section !== name;
  for (const id of ["filter", "pause", "clear", "export", "notice", "older"]) $(id).hidden = !isList(name);
  for (const id of ["detail", "empty", "nothing"]) $(id).hidden = true;
  document.querySelector("main").classList.remove("open");
  drawLists();
  drawAccounts();
  listAccounts().catch(() => {}); // A poll says that the stack does not answer.
}
for (const tab of document.querySelectorAll("nav button"))
  tab.addEventListener("click", () => {
    const isShown = tab.dataset.view === view();
    if (isShown) shownCustomer = "";
    chooseView(tab.dataset.view);
    showView();
  });
/* The address leads to what is shown: a list, with its filter and the row that is open, a customer, or the rejected signals. */
function addressOfView() {
  const name = view();
  if (name === "customers") return customerAddress(shownCustomer, chosenOf.stored);
  if (name === "rejected") return `#${new URLSearchParams({ view: name, account: chosenOf.stored })}`;
  const { selected } = shownList();
  const parts = new URLSearchParams();
  if (selected === null && name === "requests") parts.set("view", name);
  const filter = $("filter").value.trim();
  if (filter) parts.set("filter", filter);
  return `#${[selected, parts.toString()].filter(Boolean).join("&")}`;
}
function setAddress(isOpened = false) {
  const hash = addressOfView();
  const address = location.pathname + (hash === "#" ? "" : hash);
  if (isOpened && location.hash !== hash) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
async function openAddress() {
  const hash = location.hash.slice(1);
  const address = new URLSearchParams(hash);
  const name = address.get("view");
  if (name === "customers" || name === "rejected") {
    chosenOf.stored = address.get("account") ?? chosenOf.stored;
    shownCustomer = address.get("id") ?? "";
    chooseView(name);
    return showView();
  }
  const [key, place] = /^[1-9]\d*(\.\d+)?(?=&|$)/.exec(hash) ?? [];
  chooseView(name === "requests" || (key && !place) ? "requests" : "signals");
  $("filter").value = address.get("filter") ?? "";
  shownList().selected = key ?? null;
  await findTexts();
  return showView();
}
addEventListener("hashchange", openAddress);
$("account").addEventListener("change", () => {
  chosenOf[kind()] = $("account").value;
  if (!isList()) refreshRejected();
  showView();
});
document.querySelector("nav button").setAttribute("aria-current", "page");
// While the stack does not answer, the page says so.
poll()
  .then(openAddress)
  .then(() => refreshRejected())
  .catch(() => {});
