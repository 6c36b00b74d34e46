// JSON as text, so that every digit stays as it was sent.

const MAX_LINES = 4000;
const MAX_SHOWN = 10000;

/* Reads JSON as text, so that every digit stays as it was sent: a node is {text} or {open, close, items: [{key, node}]}, with
   its start and end in the text. */
function parse(text) {
  JSON.parse(text); // It is JSON, or an error.
  const token = /\s*([{}[\]:,]|"(?:[^"\\]|\\.)*"|[^\s{}[\]:,"]+)/gy;
  const next = () => token.exec(text)[1];
  const root = { open: "", items: [] },
    path = [root];
  let key = null,
    word = next();
  do {
    const parent = path[path.length - 1];
    if (word === "}" || word === "]") path.pop().end = token.lastIndex;
    else if (word !== ",") {
      if (parent.open === "{") {
        key = word;
        next();
        word = next();
      }
      const isNested = word === "{" || word === "[",
        start = token.lastIndex - word.length,
        end = token.lastIndex;
      const node = isNested
        ? { open: word, close: word === "{" ? "}" : "]", items: [], start }
        : { text: word, start, end };
      parent.items.push({ key: parent.open === "{" ? key : null, node });
      if (node.items) path.push(node);
    }
    if (path.length > 1) word = next();
  } while (path.length > 1);
  return root.items[0].node;
}
/* Puts each mark on the node of its JSON Pointer (RFC 6901), or on the nearest ancestor where the member is absent. */
function mark(root, marks) {
  for (const one of marks) {
    let node = root;
    node.marked = true;
    for (const step of (one.pointer ?? "")
      .split("/")
      .slice(1)
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))) {
      const inside =
        node.open === "[" ? node.items[step]?.node : node.items?.findLast(({ key }) => JSON.parse(key) === step)?.node;
      if (!inside) break;
      node = inside;
      node.marked = true;
    }
    (node.marks ??= []).push(one);
  }
}
/* Shows JSON with its marks. */
function pretty(json, marks = []) {
  const pre = make("pre");
  let lines = 0;
  const write = (node, indent, lead, tail, into) => {
    const noted = (...shown) => {
      if (!node.marks) return shown;
      const className = node.marks.some((one) => one.className === "bad") ? "bad" : "warned";
      const element = make("mark", "", className);
      element.append(...shown);
      for (const one of node.marks) one.element = element;
      return [
        element,
        ...node.marks.map((one) => make("mark", `${one.code}: ${one.message}`, one.className + " note")),
      ];
    };
    if (!node.items?.length) {
      const text = node.text ?? node.open + node.close,
        more = text.length - MAX_SHOWN;
      lines++;
      const shown = more > 0 ? `${text.slice(0, MAX_SHOWN)} … ${more} more …` : text;
      return into.append(indent, ...lead, ...noted(isolated(shown), tail), "\n");
    }
    if (lines > MAX_LINES && !node.marked)
      return into.append(indent, ...lead, `${node.open} … ${node.items.length} more … ${node.close}${tail}\n`);
    into.append(indent, ...lead, ...noted(node.open), "\n");
    lines++;
    let skipped = 0;
    node.items.forEach(({ key, node: inside }, index) => {
      if (lines > MAX_LINES && !inside.marked) skipped++;
      else {
        const lead = key === null ? [] : [isolated(key), ": "];
        write(inside, indent + "  ", lead, index + 1 < node.items.length ? "," : "", into);
      }
    });
    if (skipped) into.append(`${indent}  … ${skipped} more without a mark …\n`);
    into.append(indent + node.close + tail + "\n");
  };
  try {
    const root = parse(json);
    mark(root, marks);
    write(root, "", [], "", pre);
  } catch (error) {
    pre.textContent = unhidden(json.slice(0, 100000));
  } // No JSON, or nested too deeply.
  return pre;
}
/* The text of JSON, indented, with every digit and with escapes for what is hidden; any other text as it is. */
function indented(json) {
  const write = (node, indent) => {
    if (!node.items?.length) return node.text ?? node.open + node.close;
    const items = node.items.map(
      ({ key, node: inside }) => `${indent}  ${key === null ? "" : `${key}: `}${write(inside, `${indent}  `)}`,
    );
    return `${node.open}\n${items.join(",\n")}\n${indent}${node.close}`;
  };
  try {
    return unhidden(write(parse(json), ""));
  } catch (error) {
    return json;
  } // No JSON, or nested too deeply.
}
