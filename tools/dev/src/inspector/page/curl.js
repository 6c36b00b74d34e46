// A request as a line for a shell.

const MAX_ARGUMENT = 30000;
// What a terminal obeys.
const OBEYED = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/* The request as a line for sh. Whatever a client sent is in single quotes; what a terminal obeys or shows in another order, and what is
   too long for an argument, comes by printf. */
function curl(request) {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const sent = (name) =>
    request.requestHeaders.filter(([other]) => other === name).map(([, value]) => value.replace(OBEYED, "\ufffd"));
  const header = (name, value) => quote(value ? `${name}: ${value}` : `${name};`);
  const { path, requestBody: body } = request,
    line = ["curl -sS"],
    [authorization] = sent("authorization");
  if (/[[\]{}]/.test(path)) line.push("--globoff");
  if (path.includes("/.")) line.push("--path-as-is");
  // With -X HEAD, curl would wait for a body.
  const method = request.method === "HEAD" ? "--head" : `-X ${quote(request.method)}`;
  line.push(`${method} "$BASE_URL"${quote(path.replace(/^\/?/, "/"))}`);
  if (authorization === "Bearer $API_KEY") line.push('-H "Authorization: Bearer $API_KEY"');
  else if (authorization === "Bearer (no key)") line.push("-H 'Authorization: Bearer'");
  else if (authorization)
    line.push(`-H ${quote(`Authorization: ${/^\S+ /.exec(authorization)?.[0] ?? ""}`)}"$OTHER_KEY"`);
  for (const name of ["content-type", "prefer", "origin"])
    for (const value of sent(name)) line.push(`-H ${header(name, value)}`);
  if (!body) return line.join(" ");
  if (!sent("content-type").length) line.push("-H 'Content-Type:'"); // Or curl says that it is a form.
  const isObeyed = body.search(OBEYED) >= 0;
  if (!isObeyed && body.length < MAX_ARGUMENT) return [...line, `--data-raw ${quote(body)}`].join(" ");
  const octal = (text) =>
    [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
  const text = quote(body.replaceAll("\\", "\\\\").replaceAll("%", "%%").replace(OBEYED, octal));
  return `printf ${text} | ${[...line, "--data-binary @-"].join(" ")}`;
}
