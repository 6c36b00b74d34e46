// A browser and a service for docs/examples/page.ts: what pages of one origin share, 64 KiB of requests that outlive a page, clocks that are
// set, and pages that end. .ci/page_situations has the page meet a real browser.
import assert from "node:assert/strict";
import { createQueue, type Callbacks } from "./page.ts";

type Sent = { body: string; keepalive: boolean; signal?: AbortSignal };
type Page = { add: (signal: object) => void; flush: () => Promise<void>; fire: (event: string) => Promise<void>; end: () => void };
const KEEPALIVE_BYTES = 64 * 1024;
export const HOUR = 3_600_000;
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/** One browser, its clocks, the pages of one origin, and the service. `answer` is what the service does: a status, "lost" for no response,
    "stored" for a batch that is stored without a response, or the body of a 200 of another server. */
export class Browser {
  kept = new Map<string, string>();
  requests: Sent[] = [];
  stored = new Map<number, number>();
  known = new Map<string, string>();
  answer: number | string = 200;
  retryAfter = "";
  delay: Promise<void> | undefined;
  isStorageFull = false;
  visibilityState = "visible";
  clock = Date.UTC(2026, 10, 20);
  steady = 1_000;
  lines: string[] = [];
  told: { reason?: string; pointers?: string[]; ns: number[] }[] = [];
  #listeners: { page: object; event: string; listener: (event: object) => void }[] = [];
  #held = new Set<string>();
  #underWay = 0;

  /** Both clocks go on. */
  pass(ms: number): void {
    this.clock += ms;
    this.steady += ms;
  }

  /** A page that has been opened, and has sent what it found. */
  async page(baseUrl = "https://a.test", key = "key", callbacks: Callbacks = this.callbacks()): Promise<Page> {
    const page = {};
    const listen = (event: string, listener: (event: object) => void) => this.#listeners.push({ page, event, listener });
    const globals: Record<string, unknown> = {
      localStorage: this.storage(page),
      addEventListener: listen,
      document: { addEventListener: listen, visibilityState: this.visibilityState },
      navigator: { locks: { request: this.#lock.bind(this) } },
      setInterval: () => 0,
      fetch: this.#fetch.bind(this),
    };
    for (const [name, value] of Object.entries(globals)) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    }
    Date.now = () => this.clock;
    performance.now = () => this.steady;
    for (const method of ["error", "warn"] as const) {
      console[method] = (line: string) => void this.lines.push(line);
    }
    const { add, flush } = createQueue(baseUrl, key, callbacks);
    await flush();
    const fire = async (event: string, details = {}) => {
      this.#dispatch(event, details, (of) => of === page);
      await settled();
      await settled();
    };
    const end = () => {
      this.#listeners = this.#listeners.filter((entry) => entry.page !== page);
    };
    return { add, flush, fire, end };
  }

  callbacks(): Callbacks {
    const ns = (signals: object[]) => signals.map((signal) => (signal as { n: number }).n);
    return {
      onRejected: (errors, { signals }) => void this.told.push({ pointers: errors.map(({ pointer }) => pointer), ns: ns(signals) }),
      onDropped: (reason, { signals }) => void this.told.push({ reason, ns: ns(signals) }),
    };
  }

  /** `Object.keys(localStorage)` lists what is stored. */
  storage(page: object): object {
    const { kept } = this;
    const storage = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => {
        if (this.isStorageFull) {
          throw new DOMException("full", "QuotaExceededError");
        }
        kept.set(name, value);
      },
      removeItem: (name: string) => {
        if (kept.delete(name)) {
          this.#dispatch("storage", { key: name, newValue: null }, (of) => of !== page);
        }
      },
    };
    return new Proxy(storage, {
      ownKeys: () => [...kept.keys()],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    });
  }

  #dispatch(event: string, details: object, isFor: (page: object) => boolean): void {
    for (const entry of [...this.#listeners]) {
      if (entry.event === event && isFor(entry.page)) {
        entry.listener(details);
      }
    }
  }

  async #lock(name: string, { ifAvailable }: { ifAvailable: boolean }, callback: (lock: object | null) => unknown): Promise<void> {
    assert.ok(ifAvailable, "a page waited for another one");
    await settled();
    const isFree = !this.#held.has(name);
    this.#held.add(name);
    await callback(isFree ? {} : null);
    if (isFree) {
      this.#held.delete(name);
    }
  }

  async #fetch(request: Request, sent: Sent): Promise<object> {
    assert.match(`${request.method} ${request.url}`, /^POST https:\/\/[ab].test\/api\/event-flows\/signal$/);
    assert.equal(request.headers.get("content-type"), "application/json");
    assert.match(request.headers.get("authorization") ?? "", /^Bearer (key|old|new|other)$/);
    assert.equal(request.redirect, "manual", "the key goes where a redirect leads");
    assert.ok(sent.signal instanceof AbortSignal, "an attempt has no end");
    const bytes = sent.keepalive ? Buffer.byteLength(sent.body) : 0;
    if (this.#underWay + bytes > KEEPALIVE_BYTES) {
      throw new TypeError("Failed to fetch");
    }
    this.requests.push(sent);
    this.#underWay += bytes;
    await settled();
    await this.delay;
    this.#underWay -= bytes;
    return this.#respond(sent.body);
  }

  #respond(body: string): object {
    const { requestIdentifier, signals } = JSON.parse(body);
    if (this.answer === "lost") {
      throw new TypeError("Failed to fetch");
    }
    if (this.answer === "redirect") {
      return { type: "opaqueredirect", status: 0, text: async () => "", headers: new Headers() };
    }
    if (this.answer === 204) {
      return new Response(null, { status: 204 });
    }
    const headers: Record<string, string> = this.retryAfter ? { "Retry-After": this.retryAfter } : {};
    if (typeof this.answer === "string" && this.answer !== "stored") {
      return new Response(this.answer, { headers });
    }
    if (typeof this.answer === "number" && this.answer !== 200) {
      return Response.json({ message: "scripted" }, { status: this.answer, headers });
    }
    const known = this.known.get(requestIdentifier);
    if (known !== undefined && known !== body) {
      return Response.json({ message: "reused" }, { status: 422 });
    }
    this.known.set(requestIdentifier, body);
    const rejected = signals.flatMap(({ isInvalid }: { isInvalid?: boolean }, index: number) => (isInvalid ? [index] : []));
    for (const { n, isInvalid } of signals) {
      if (known === undefined && !isInvalid) {
        this.stored.set(n, (this.stored.get(n) ?? 0) + 1);
      }
    }
    if (this.answer === "stored") {
      throw new TypeError("Failed to fetch");
    }
    const fieldErrors = rejected.map((index: number) => ({ pointer: `/signals/${index}`, message: "is invalid", code: "c", field: "f" }));
    const accepted = signals.length - rejected.length;
    return Response.json({ requestIdentifier, accepted, fieldErrors, message: "m" }, { status: accepted === 0 ? 400 : 200 });
  }

  /** Each signal is stored once. */
  expectStored(...ns: number[]): void {
    assert.deepEqual([...this.stored].sort(([a], [b]) => a - b), ns.map((n) => [n, 1]), "signals were lost, or stored twice");
  }
}

export const ids = (requests: { body: string }[]) => requests.flatMap(({ body }) => JSON.parse(body).signals.map(({ n }: { n: number }) => n));
export const signal = (n: number, size = 10) => ({ n, filling: "x".repeat(size) });
export const charactersIn = (kept: Map<string, string>) => [...kept].reduce((sum, [name, body]) => sum + name.length + body.length, 0);

export async function check(name: string, run: (browser: Browser) => unknown): Promise<void> {
  const reals = [Date.now, performance.now, console.error, console.warn] as const;
  try {
    await run(new Browser());
  } catch (error) {
    throw new Error(`page.ts: ${name}`, { cause: error });
  } finally {
    [Date.now, performance.now, console.error, console.warn] = reals;
  }
}
