// The keys of the page.

addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape" && event.target === $("filter")) {
      event.target.value = "";
      filterLists();
    }
    return event.key === "Escape" && event.target.blur();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  // These keys lead out of the detail, which the others scroll.
  if (event.target.closest("#detail") && !["Escape", "/", "?"].includes(event.key)) return;
  if (event.key === "?") return $("keys").showModal();
  const list = shownList();
  if (!list) return;
  if (event.key === "Escape") close();
  else if (event.key === "p") $("pause").click();
  else if (event.key === "/") {
    $("filter").focus();
    event.preventDefault();
  } else leadThroughList(event, list);
});
function leadThroughList(event, list) {
  const focused = event.target.closest("[role=row]")?.dataset.key ?? null;
  const place = list.nextPlace(event.key, focused);
  if (place >= 0) {
    list.focus(place);
    event.preventDefault();
    if (list.selected !== null) open(list.source.keyAt(place));
  } else if (focused !== null && event.key === "Enter" && !event.target.closest("a")) open(focused);
  else if (focused !== null && event.key === "r") location.hash = `#${numberOf(focused)}`;
  else if (focused !== null && event.key === "c") {
    const address = event.target.querySelector(".subject a")?.hash;
    if (address) location.hash = address;
  }
}
