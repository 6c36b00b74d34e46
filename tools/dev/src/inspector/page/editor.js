// Edits a request and sends it again.

/* The place of the requestIdentifier in a request, if it has one. */
function identifier(text) {
  try {
    return parse(text).items?.findLast(({ key }) => JSON.parse(key) === "requestIdentifier")?.node;
  } catch (error) {
    return undefined;
  }
}
/* Puts another requestIdentifier into the text of a request, and leaves the rest of it as it is. What is no JSON stays so. */
function withNewId(text) {
  const hex = [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
  const id = `"${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}"`; // randomUUID needs HTTPS.
  const found = identifier(text);
  return found
    ? text.slice(0, found.start) + id + text.slice(found.end)
    : text.replace("{", `{"requestIdentifier":${id},`);
}
function edit(request, pane, said) {
  pane.querySelector("form")?.remove(); // One editor at a time.
  const form = make("form"),
    text = make("textarea"),
    label = make("label"),
    box = make("input"),
    actions = make("p", "", "actions");
  const sent = request.requestBody ?? "",
    isBatch = request.path.includes("signal");
  Object.assign(text, {
    value: indented(sent),
    rows: Math.min(Math.max(sent.length / 30, 6), 20),
    hidden: !sent,
    ariaLabel: "Body",
    spellcheck: false,
  });
  const before = text.value; // Which has other line breaks than the body.
  // With the same identifier, a changed body is a conflict.
  Object.assign(box, { type: "checkbox", checked: isBatch && Boolean(identifier(sent)) });
  label.append(box, "with a new requestIdentifier");
  label.hidden = !sent || !isBatch;
  actions.append(
    button(
      "Send",
      async (event) => {
        event.preventDefault();
        try {
          const changed = box.checked ? withNewId(text.value) : text.value === before ? undefined : text.value;
          const answer = JSON.parse(await call("POST", `requests/${request.n}/replay`, changed));
          open(String(answer.n), `Sent again: ${answer.status}${answer.replayed ? ", replayed" : ""}.`);
        } catch (error) {
          said.textContent = error.message;
        }
      },
      "main",
    ),
    button("Cancel", (event) => {
      event.preventDefault();
      form.remove();
    }),
    label,
  );
  form.append(text, actions);
  said.after(form);
  text.setSelectionRange(0, 0);
  (sent ? text : actions.firstChild).focus();
}
