// Collects the signals of a browser page and sends them in batches: docs/clients.md, Browsers.
// A batch stays in localStorage until it is answered, for up to 23 hours. What a page could not send, the next page of the same
// origin does.

const RETRIED = [429, 500, 502, 503, 504];
// The key or the address is wrong. The next page may have the right one.
const STOPPED = [401, 403, 404, 405];
// A browser takes at most 64 KiB of requests that outlive the page, all together. Some count the address and the headers, too.
const MAX_LEAVING_BYTES = 64 * 1024;
const HEAD_BYTES = 1_000;
const MAX_BATCH_BYTES = 60_000;
const MAX_BATCH_SIGNALS = 500;
const FLUSH_INTERVAL_MS = 5_000;
const MAX_WAIT_MS = 60_000;
// The service forgets the requestIdentifier after 24 hours, and would then store the batch a second time.
const FORGET_AFTER_MS = 23 * 3_600_000;
// How much waits to be sent: a small part of the five million characters that the page's own data has in localStorage.
const MAX_KEPT_CHARACTERS = 500_000;
// The service takes no larger signal.
const MAX_SIGNAL_BYTES = 256 * 1024;
// A page that sends to two accounts at one address needs a second copy with another prefix.
const PREFIX = "intake:";

/** Throws a TypeError for an address or a key that no request can have. */
export function createQueue(baseUrl: string, key: string) {
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  const request = new Request(`${baseUrl}/api/event-flows/signal`, { method: "POST", headers });
  let signals: string[] = [];
  let bytes = 0;
  let failures = 0;
  let waitUntil = 0;
  let isStopped = false;
  let hasDropped = false;
  const sending = new Set<string>();
  const storage = openStorage();
  const batches = storage ? loadBatches(storage, baseUrl) : new Map<string, string>();

  /** Throws a TypeError for a signal that JSON cannot write, or that is larger than the service takes. */
  function add(signal: object): void {
    const text = JSON.stringify(signal, refuseLoss);
    const size = new TextEncoder().encode(text).length + 1;
    if (size - 1 > MAX_SIGNAL_BYTES) {
      throw new TypeError(`The signal has ${size - 1} bytes, and may have ${MAX_SIGNAL_BYTES}.`);
    }
    if (bytes + size > MAX_BATCH_BYTES || signals.length === MAX_BATCH_SIGNALS) {
      closeBatch();
    }
    signals.push(text);
    bytes += size;
  }

  /** Makes a batch of the signals. Its body is the same in each attempt, so that they are stored once. */
  function closeBatch(): void {
    if (signals.length === 0) {
      return;
    }
    const requestIdentifier = crypto.randomUUID();
    const body = `{"requestIdentifier":"${requestIdentifier}","signals":[${signals.join(",")}]}`;
    const name = `${PREFIX}${Date.now()}:${requestIdentifier}:${baseUrl}`;
    batches.set(name, body);
    signals = [];
    bytes = 0;
    dropOldest();
    if (storage) {
      saveBatch(storage, name, body);
    }
  }

  /** Forgets the oldest batches, until the others are within the bound. */
  function dropOldest(): void {
    let excess = charactersOf(batches) - MAX_KEPT_CHARACTERS;
    for (const [name, body] of batches) {
      if (excess <= 0) {
        return;
      }
      excess -= name.length + body.length;
      forget(name);
      if (!hasDropped) {
        hasDropped = true;
        console.error("More signals wait than the page keeps: from now on, the oldest are dropped.");
      }
    }
  }

  async function flush(isLeaving = false): Promise<void> {
    closeBatch();
    if (isStopped) {
      return;
    }
    if (isLeaving) {
      // All at once: there is no time to wait. Those over the browser's limit stay for the next page.
      await Promise.all(namesWithinLimit(batches).map((name) => send(name, true)));
      return;
    }
    for (const name of [...batches.keys()]) {
      if (!isStopped && Date.now() >= waitUntil && !sending.has(name)) {
        await send(name, false);
      }
    }
  }

  async function send(name: string, keepalive: boolean): Promise<void> {
    const body = batches.get(name);
    if (body === undefined || isForgotten(name)) {
      forget(name);
      return;
    }
    sending.add(name);
    const response = await fetch(request, { body, keepalive }).catch(() => undefined);
    sending.delete(name);
    if (response === undefined || RETRIED.includes(response.status)) {
      failures += 1;
      const retryAfterMs = Number(response?.headers.get("retry-after") ?? 0) * 1_000;
      waitUntil = Date.now() + (retryAfterMs || Math.random() * Math.min(500 * 2 ** failures, MAX_WAIT_MS));
      return;
    }
    failures = 0;
    if (STOPPED.includes(response.status)) {
      isStopped = true;
    } else {
      forget(name);
    }
    if (!response.ok) {
      console.error(`The batch was refused with ${response.status}.`, await response.text());
    }
  }

  function forget(name: string): void {
    batches.delete(name);
    storage?.removeItem(name);
  }

  setInterval(flush, FLUSH_INTERVAL_MS);
  addEventListener("pagehide", () => void flush(true));
  return { add, flush };
}

/** Has JSON.stringify throw where it would write null for a value, or leave it out. A field that is undefined is absent. */
function refuseLoss(this: any, name: string, value: unknown): unknown {
  const isUnwritable = typeof value === "function" || typeof value === "symbol" || (typeof value === "number" && !Number.isFinite(value));
  const isHole = value === undefined && (Array.isArray(this) || name === "");
  // The JSON of a Date that is not valid is null.
  const isInvalidDate = value === null && this[name] !== null;
  if (isUnwritable || isHole || isInvalidDate) {
    throw new TypeError(`${name || "The signal"} is ${String(this[name])}, which JSON cannot write.`);
  }
  return value;
}

/** Nothing, where the browser gives a page no storage: then the batches are only in memory. */
function openStorage(): Storage | undefined {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

/** What earlier pages could not send to this address, oldest first. */
function loadBatches(storage: Storage, baseUrl: string): Map<string, string> {
  const batches = new Map<string, string>();
  for (const name of Object.keys(storage).sort()) {
    if (!name.startsWith(PREFIX)) {
      continue;
    }
    if (isForgotten(name)) {
      storage.removeItem(name);
    } else if (name.endsWith(`:${baseUrl}`)) {
      batches.set(name, storage.getItem(name) ?? "");
    }
  }
  return batches;
}

function isForgotten(name: string): boolean {
  return Date.now() - Number(name.split(":")[1]) > FORGET_AFTER_MS;
}

/** Saves a batch in place of the oldest ones. Without room, it is sent from memory, while the page is there. */
function saveBatch(storage: Storage, name: string, body: string): void {
  // Other pages of this origin, and queues for other addresses, have batches here, too. Their names begin with the time.
  const names = Object.keys(storage).filter((saved) => saved.startsWith(PREFIX)).sort();
  const saved = names.map((saved): [string, string] => [saved, storage.getItem(saved) ?? ""]);
  let excess = charactersOf([...saved, [name, body]]) - MAX_KEPT_CHARACTERS;
  for (const [oldest, kept] of saved) {
    if (excess <= 0) {
      break;
    }
    excess -= oldest.length + kept.length;
    storage.removeItem(oldest);
  }
  try {
    storage.setItem(name, body);
  } catch {
    // The data of the site itself has filled the storage.
  }
}

function charactersOf(batches: Iterable<[string, string]>): number {
  let characters = 0;
  for (const [name, body] of batches) {
    characters += name.length + body.length;
  }
  return characters;
}

/** The oldest batches that the browser sends together while the page is left. */
function namesWithinLimit(batches: Map<string, string>): string[] {
  const names: string[] = [];
  let room = MAX_LEAVING_BYTES;
  for (const [name, body] of batches) {
    const size = HEAD_BYTES + new TextEncoder().encode(body).length;
    if (size <= room) {
      room -= size;
      names.push(name);
    }
  }
  return names;
}
