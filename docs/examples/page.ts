// Collects the signals of a browser page and sends them in batches: docs/clients.md, Browsers.
// A signal is saved in localStorage when it is added. It stays there until the service has accepted or refused its batch, for up to 23
// hours. If the page closes before that, another page of the same origin sends the batch.

// The request is wrong, and is not sent again.
const REFUSED = [400, 413, 415, 422];
// The key or the address is wrong. The next page may have the right one.
const STOPPED = [401, 403, 404, 405];
const TIMEOUT_MS = 60_000;
const MAX_WAIT_MS = 60_000;
// Requests that outlive the page may have 64 KiB together. Some browsers count the address and the headers, too.
const MAX_OUTLIVING_BYTES = 64 * 1024;
const HEAD_BYTES = 1_000;
const MAX_BATCH_BYTES = 60_000;
const MAX_BATCH_SIGNALS = 500;
const FLUSH_INTERVAL_MS = 5_000;
// A page adds to a batch for FLUSH_INTERVAL_MS. When it is older than this, other pages may send it.
const LEFT_AFTER_MS = 10_000;
// The service forgets the requestIdentifier after 24 hours, and would then store the batch a second time.
const FORGET_AFTER_MS = 23 * 3_600_000;
// A smaller change of the clock is only a correction.
const CLOCK_TOLERANCE_MS = 60_000;
// The limit of what waits to be sent. It leaves room for the site's own data: localStorage has about five million characters.
const MAX_KEPT_CHARACTERS = 500_000;
// The service rejects larger signals.
const MAX_SIGNAL_BYTES = 256 * 1024;
// A page that sends to two accounts at one address needs a second copy with another prefix.
const PREFIX = "intake:";

export type Batch = { requestIdentifier: string; signals: object[] };
export type FieldError = { field: string; pointer: string; code: string; message: string };
export type Callbacks = {
  /** Gets the errors of the rejected signals. Each pointer leads to a place in the batch. Without this callback: a line on the console. */
  onRejected?: (fieldErrors: FieldError[], batch: Batch) => void;
  /** Gets a batch that is not sent any more, and the reason. Without this callback: a line on the console. */
  onDropped?: (reason: string, batch: Batch) => void;
};

/** Throws a TypeError for an address or a key that no request can have. */
export function createQueue(baseUrl: string, key: string, { onRejected = logRejected, onDropped = logDropped }: Callbacks = {}) {
  if (typeof document === "undefined") {
    throw new Error("page.ts collects the signals of a page in a browser: create the queue there. A server sends with retry.mts.");
  }
  const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  // A redirect is not followed: it would take the key and the signals elsewhere.
  const request = new Request(`${baseUrl}/api/event-flows/signal`, { method: "POST", headers, redirect: "manual" });
  const backlog = new Backlog(baseUrl);
  let open: { name: string; signals: string[]; bytes: number; since: number } | undefined;
  // The batches under way, each with the bytes of a request that outlives the page, or 0.
  const sending = new Map<string, number>();
  const attempts = new Map<string, number>();
  let flushing: Promise<void> | undefined;
  let isStopped = false;
  let failures = 0;
  // By performance.now(), a clock that cannot be set: how long this page waits after a failure, and how long the service tells it to wait.
  let waitUntil = 0;
  let retryAfter = 0;

  /** Throws a TypeError for a signal that JSON cannot write, or that is too large for the service. */
  function add(signal: object): void {
    const text = JSON.stringify(signal, refuseLoss);
    const bytes = bytesOf(text);
    if (bytes > MAX_SIGNAL_BYTES) {
      throw new TypeError(`The signal has ${bytes} bytes, and may have ${MAX_SIGNAL_BYTES}.`);
    }
    const batch = openBatch(bytes + 1);
    batch.signals.push(text);
    batch.bytes += bytes + 1;
    const { requestIdentifier } = partsOf(batch.name);
    backlog.write(batch.name, `{"requestIdentifier":"${requestIdentifier}","signals":[${batch.signals.join(",")}]}`);
  }

  /** The batch to which so many bytes can be added. After it may have been sent, its body must not change: a retry has the same body. */
  function openBatch(bytes: number) {
    if (open && backlog.has(open.name) && open.bytes + bytes <= MAX_BATCH_BYTES && open.signals.length < MAX_BATCH_SIGNALS) {
      const age = ageOf(open.name);
      if (age >= 0 && age < FLUSH_INTERVAL_MS && performance.now() - open.since < FLUSH_INTERVAL_MS) {
        return open;
      }
    }
    dropOutdated();
    for (const name of backlog.namesBeyondBound(Math.max(bytes, MAX_BATCH_BYTES))) {
      drop(name, "More signals wait than the page keeps.");
    }
    open = { name: `${PREFIX}${Date.now()}:${newIdentifier()}:${baseUrl}`, signals: [], bytes: 0, since: performance.now() };
    return open;
  }

  /** Sends what waits, one batch after the other, until all are answered or one fails. */
  function flush(): Promise<void> {
    open = undefined;
    flushing ??= sendAll();
    return flushing;
  }

  async function sendAll(): Promise<void> {
    // From here on, flush has its promise.
    await undefined;
    dropOutdated();
    const tried = new Set<string>();
    while (!isStopped && performance.now() >= Math.max(waitUntil, retryAfter)) {
      const names = backlog.namesToSend().filter((name) => !tried.has(name) && !sending.has(name) && name !== open?.name);
      // A batch that fails again and again holds up no other one.
      const [name] = names.sort((a, b) => (attempts.get(a) ?? 0) - (attempts.get(b) ?? 0));
      if (name === undefined) {
        break;
      }
      tried.add(name);
      await sendAlone(name);
    }
    flushing = undefined;
  }

  /** Leaves a batch to the page that already sends it, where there are locks: on a page of HTTPS or of localhost. */
  async function sendAlone(name: string): Promise<void> {
    if (backlog.isShared && navigator.locks) {
      await navigator.locks.request(name, { ifAvailable: true }, (lock) => (lock ? send(name) : undefined));
    } else {
      await send(name);
    }
  }

  /** Sends as much as a browser accepts from a page that may close now. The rest stays for another page. */
  function leave(): void {
    open = undefined;
    dropOutdated();
    if (isStopped || performance.now() < retryAfter) {
      return;
    }
    for (const name of backlog.namesToSend()) {
      if (!sending.has(name) && canOutlive(bytesOf(backlog.read(name) ?? ""))) {
        void send(name);
      }
    }
  }

  function canOutlive(bytes: number): boolean {
    const underWay = [...sending.values()].reduce((sum, each) => sum + each, 0);
    return underWay + HEAD_BYTES + bytes <= MAX_OUTLIVING_BYTES;
  }

  async function send(name: string): Promise<void> {
    const body = backlog.read(name);
    if (body === undefined || sending.has(name)) {
      // Another page has sent it, or this one sends it while it is left.
      return;
    }
    const keepalive = canOutlive(bytesOf(body));
    sending.set(name, keepalive ? HEAD_BYTES + bytesOf(body) : 0);
    attempts.set(name, (attempts.get(name) ?? 0) + 1);
    const response = await post(request, body, keepalive);
    sending.delete(name);
    settle(name, body, response);
  }

  function settle(name: string, body: string, { status, text, retryAfterSeconds }: AttemptResult): void {
    const answer = parse(text);
    if (isAnswerTo(name, status, answer)) {
      failures = 0;
      forget(name);
      if (answer.fieldErrors.length > 0) {
        tell(() => onRejected(answer.fieldErrors, JSON.parse(body)));
      }
      return;
    }
    // Each error of the service has a message. Another response, such as a proxy's page, says nothing about the batch.
    const isOfService = typeof answer?.message === "string";
    if (isOfService && REFUSED.includes(status)) {
      drop(name, `It was refused with ${status}: ${text}`);
    } else if (isOfService && STOPPED.includes(status)) {
      isStopped = true;
      console.error(`The key or the address was refused with ${status}: ${text} This page sends nothing more.`);
    } else {
      if (text && !isOfService) {
        console.warn(`This is no response of the service, so the batch is sent again. Is ${baseUrl} right? ${status}: ${text.slice(0, 300)}`);
      }
      wait(retryAfterSeconds);
    }
  }

  function wait(seconds: string | null): void {
    const now = performance.now();
    if (seconds && /^[0-9]+$/.test(seconds)) {
      retryAfter = now + Number(seconds) * 1_000;
    } else if (now >= waitUntil) {
      failures += 1;
      waitUntil = now + Math.random() * Math.min(500 * 2 ** failures, MAX_WAIT_MS);
    }
  }

  function dropOutdated(): void {
    for (const name of backlog.outdatedNames()) {
      if (!sending.has(name)) {
        drop(name, "It waited for 23 hours, or the clock was set: sent again, it might be stored twice.");
      }
    }
  }

  function drop(name: string, reason: string): void {
    const body = backlog.read(name);
    forget(name);
    if (body !== undefined) {
      tell(() => onDropped(reason, JSON.parse(body)));
    }
  }

  function forget(name: string): void {
    backlog.forget(name);
    attempts.delete(name);
  }

  setInterval(flush, FLUSH_INTERVAL_MS);
  addEventListener("online", () => {
    waitUntil = 0;
    void flush();
  });
  addEventListener("pagehide", leave);
  // A phone ends a hidden page without a pagehide.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") {
      leave();
    }
  });
  void flush();
  return { add, flush };
}

/** The batches that wait, by names that begin with their time: those of this page in memory, and those of all pages of the origin in
    localStorage, where the browser gives it. */
class Backlog {
  #own = new Map<string, string>();
  #storage = openStorage();
  #baseUrl: string;
  #lastNow = Date.now();

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl;
    addEventListener("storage", ({ key, newValue }) => {
      // Another page has sent or dropped this batch. When the site clears its storage, there is no key.
      if (key !== null && newValue === null) {
        this.#own.delete(key);
      }
    });
  }

  get isShared(): boolean {
    return this.#storage !== undefined;
  }

  has(name: string): boolean {
    return this.#own.has(name);
  }

  read(name: string): string | undefined {
    return this.#own.get(name) ?? this.#storage?.getItem(name) ?? undefined;
  }

  /** If localStorage has no room, the batch is sent from memory, as long as the page is open. */
  write(name: string, body: string): void {
    this.#own.set(name, body);
    try {
      this.#storage?.setItem(name, body);
    } catch {
      // Not an earlier body: another page would send it under the same requestIdentifier.
      this.#storage?.removeItem(name);
    }
  }

  forget(name: string): void {
    this.#own.delete(name);
    this.#storage?.removeItem(name);
  }

  /** Of all addresses, oldest first. */
  #names(): string[] {
    const saved = Object.keys(this.#storage ?? {}).filter((name) => name.startsWith(PREFIX) && !Number.isNaN(ageOf(name)));
    return [...new Set([...this.#own.keys(), ...saved])].sort();
  }

  namesToSend(): string[] {
    const names = this.#names().filter((name) => partsOf(name).baseUrl === this.#baseUrl);
    return names.filter((name) => this.has(name) || ageOf(name) > LEFT_AFTER_MS);
  }

  /** The batches whose requestIdentifier the service may have forgotten. If the clock was set back, these are all: no age is known. */
  outdatedNames(): string[] {
    const names = this.#names();
    const now = Date.now();
    const isAhead = (name: string) => ageOf(name) < -CLOCK_TOLERANCE_MS;
    // One of this page was being sent when the clock was set: what the page has added since has an age.
    const isClockSetBack = now < this.#lastNow - CLOCK_TOLERANCE_MS || names.some((name) => isAhead(name) && !this.has(name));
    this.#lastNow = now;
    return names.filter((name) => isClockSetBack || isAhead(name) || ageOf(name) > FORGET_AFTER_MS);
  }

  /** The oldest ones, without which so many characters more are within the bound. */
  namesBeyondBound(characters: number): string[] {
    const sizes = this.#names().map((name) => ({ name, size: name.length + (this.read(name)?.length ?? 0) }));
    let excess = sizes.reduce((sum, { size }) => sum + size, characters) - MAX_KEPT_CHARACTERS;
    const names: string[] = [];
    for (const { name, size } of sizes) {
      if (excess <= 0) {
        break;
      }
      excess -= size;
      names.push(name);
    }
    return names;
  }
}

/** Nothing, where the browser gives a page no storage: then the batches are only in memory. */
function openStorage(): Storage | undefined {
  try {
    return localStorage ?? undefined;
  } catch {
    return undefined;
  }
}

function partsOf(name: string) {
  const [time, requestIdentifier, ...rest] = name.slice(PREFIX.length).split(":");
  return { time: Number(time), requestIdentifier, baseUrl: rest.join(":") };
}

/** NaN, for what has another name than a batch. */
function ageOf(name: string): number {
  return Date.now() - partsOf(name).time;
}

/** A random UUID. crypto.randomUUID is missing on a page of plain HTTP. */
function newIdentifier(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

type AttemptResult = { status: number; text: string; retryAfterSeconds: string | null };

/** Returns the response when all of it has arrived. If there is none in time, or it is a redirect, the status is 0. */
async function post(request: Request, body: string, keepalive: boolean): Promise<AttemptResult> {
  try {
    const response = await fetch(request, { body, keepalive, signal: AbortSignal.timeout?.(TIMEOUT_MS) });
    const text = response.type === "opaqueredirect" ? "a redirect" : await response.text();
    return { status: response.status, text, retryAfterSeconds: response.headers.get("retry-after") };
  } catch {
    return { status: 0, text: "", retryAfterSeconds: null };
  }
}

type Answer = { requestIdentifier?: unknown; accepted?: unknown; fieldErrors?: unknown; message?: unknown };

function parse(text: string): Answer | null {
  try {
    return JSON.parse(text) as Answer | null;
  } catch {
    return null;
  }
}

/** Whether the service has judged this batch. The 400 of one without any valid signal has these members, too. */
function isAnswerTo(name: string, status: number, answer: Answer | null): answer is Answer & { fieldErrors: FieldError[] } {
  const isOfBatch = answer?.requestIdentifier === partsOf(name).requestIdentifier;
  return isOfBatch && [200, 400].includes(status) && Number.isInteger(answer?.accepted) && Array.isArray(answer?.fieldErrors);
}

/** Calls the page's callback so that an error in it does not stop the queue. */
function tell(callback: () => void): void {
  queueMicrotask(callback);
}

function logRejected(fieldErrors: FieldError[]): void {
  console.error(`The service rejected signals: ${fieldErrors.map(({ pointer, message }) => `${pointer}: ${message}`).join(" ")}`);
}

function logDropped(reason: string, { signals }: Batch): void {
  console.error(`Signals dropped: ${signals.length}. ${reason}`);
}

/** Makes JSON.stringify throw an error for a value that it would replace by null, leave out, or write as {} although it is not empty,
    such as a Map or an Error. A field that is undefined is left out. */
function refuseLoss(this: any, name: string, value: unknown): unknown {
  const plain = value instanceof Number ? value.valueOf() : value;
  const isUnwritable = typeof plain === "function" || typeof plain === "symbol" || (typeof plain === "number" && !Number.isFinite(plain));
  const isHole = value === undefined && (Array.isArray(this) || name === "");
  // The JSON of a Date that is not valid is null.
  const isInvalidDate = value === null && this[name] !== null;
  if (isUnwritable || isHole || isInvalidDate || isEmptied(value)) {
    throw new TypeError(`${name || "The signal"} is ${String(this[name])}, which JSON cannot write.`);
  }
  return value;
}

/** Objects that keep their content where JSON.stringify does not look. An Error may have fields, but never its message. */
function isEmptied(value: unknown): boolean {
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const isWritten = typeof value !== "object" || ["Null", "Object", "Array", "Number", "String", "Boolean"].includes(kind);
  return !isWritten && (kind === "Error" || Object.keys(value as object).length === 0);
}
