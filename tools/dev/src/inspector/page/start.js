// The tabs of the page, its addresses, and its start.

function showView() {
  if (view() === "requests") show(selected);
  else if (view() === "customer") showCustomer();
  else refreshRejected();
}
async function chooseView(name) {
  for (const tab of document.querySelectorAll("nav button"))
    tab.setAttribute("aria-current", tab.dataset.view === name ? "page" : "false");
  for (const section of ["requests", "customer", "rejected"]) $(section).hidden = section !== name;
  for (const id of ["filter", "pause", "clear", "export", "notice", "older"]) $(id).hidden = name !== "requests";
  $("detail").hidden = name !== "requests" || selected === null;
  await listAccounts();
}
for (const tab of document.querySelectorAll("nav button"))
  tab.addEventListener("click", () => chooseView(tab.dataset.view).then(showView));
/* The address of the list, with its filter and the request that is open. */
function addressOfList() {
  const filter = $("filter").value.trim();
  const parts = [selected ?? "", filter && new URLSearchParams({ filter })];
  return `#${parts.filter(Boolean).join("&")}`;
}
/* The address leads to what is shown: requests, a customer or the rejected signals. */
function setAddress(isOpened = false, hash = addressOfList()) {
  const address = location.pathname + (hash === "#" ? "" : hash);
  if (isOpened && location.hash !== hash) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
async function openAddress() {
  const hash = location.hash.slice(1);
  const address = new URLSearchParams(hash);
  const name = address.get("view");
  if (name !== "customer" && name !== "rejected") {
    await chooseView("requests");
    $("filter").value = address.get("filter") ?? "";
    const [n] = /^[1-9]\d*(?=&|$)/.exec(hash) ?? [];
    if (n) return open(Number(n));
    return close();
  }
  chosenOf.stored = address.get("account") ?? chosenOf.stored;
  customerId().value = address.get("id") ?? "";
  await chooseView(name);
  return showView();
}
addEventListener("hashchange", openAddress);
document.querySelector("nav button").setAttribute("aria-current", "page");
// While the stack does not answer, the page says so.
poll()
  .then(openAddress)
  .catch(() => {});
