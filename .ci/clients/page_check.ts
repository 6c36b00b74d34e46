// Has docs/examples/page.ts meet a browser's rules: 64 KiB of requests that outlive a page, and localStorage.
import assert from "node:assert/strict";
import { createQueue } from "./page.ts";

type Sent = { body: string; keepalive: boolean };
const KEEPALIVE_BYTES = 64 * 1024;

/** A browser: `requests` is what reached the service, which answers with `status`; 0 is a network that is away. `calls` is how often
    the page called fetch. */
function openBrowser() {
  const kept = new Map<string, string>();
  const browser = { requests: [] as Sent[], calls: 0, status: 200, retryAfter: "", leave: () => {}, kept };
  let outliving = 0;
  const storage = {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
  const globals: Record<string, unknown> = {
    // `Object.keys(localStorage)` lists what is stored.
    localStorage: new Proxy(storage, {
      ownKeys: () => [...kept.keys()],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    }),
    addEventListener: (name: string, listener: () => void) => {
      assert.equal(name, "pagehide");
      browser.leave = listener;
    },
    setInterval: () => 0,
    fetch: async (request: Request, { body, keepalive }: Sent) => {
      assert.match(`${request.method} ${request.url}`, /^POST https:\/\/[ab].test\/api\/event-flows\/signal$/);
      assert.equal(request.headers.get("content-type"), "application/json");
      assert.match(request.headers.get("authorization") ?? "", /^Bearer (key|old|new|other)$/);
      browser.calls += 1;
      if (keepalive) {
        outliving += Buffer.byteLength(body);
        if (outliving > KEEPALIVE_BYTES) {
          throw new TypeError("Failed to fetch");
        }
      }
      if (browser.status === 0) {
        throw new TypeError("Failed to fetch");
      }
      browser.requests.push({ body, keepalive });
      return new Response("{}", { status: browser.status, headers: browser.retryAfter ? { "Retry-After": browser.retryAfter } : {} });
    },
  };
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  }
  return browser;
}

const ids = (requests: Sent[]) => requests.flatMap(({ body }) => JSON.parse(body).signals.map(({ n }: { n: number }) => n));
const settled = () => new Promise((resolve) => setImmediate(resolve));
const signal = (n: number, size = 10) => ({ n, filling: "x".repeat(size) });
const errors: string[] = [];
console.error = (message: string) => void errors.push(message);
const charactersIn = (kept: Map<string, string>) => [...kept].reduce((sum, [name, body]) => sum + name.length + body.length, 0);

{
  const browser = openBrowser();
  createQueue("https://a.test", "key");
  browser.leave();
  await settled();
  assert.deepEqual(browser.requests, [], "an empty batch was sent on leaving");
}
{
  // 150 KB: three batches, of which the browser takes one.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  const sent = Array.from({ length: 150 }, (_, n) => n);
  sent.forEach((n) => queue.add(signal(n, 1_000)));
  browser.leave();
  await settled();
  assert.equal(browser.requests.length, 1);
  const next = createQueue("https://a.test", "key");
  await next.flush();
  assert.deepEqual(ids(browser.requests).sort((a, b) => a - b), sent, "signals were lost, or sent twice");
  assert.equal(browser.kept.size, 0);
}
{
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  browser.status = 0;
  await queue.flush();
  browser.status = 503;
  Date.now = ((now) => () => now() + 120_000)(Date.now);
  await queue.flush();
  browser.status = 200;
  queue.add(signal(2));
  Date.now = ((now) => () => now() + 120_000)(Date.now);
  await queue.flush();
  assert.deepEqual(ids(browser.requests), [1, 1, 2], "a flush that failed lost its signals");
  assert.equal(browser.requests[0]!.body, browser.requests[1]!.body, "the bodies of two attempts differ");
}
{
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  [browser.status, browser.retryAfter] = [503, "30"];
  await queue.flush();
  // Longer than the wait after one failure, and shorter than Retry-After.
  Date.now = ((now) => () => now() + 20_000)(Date.now);
  await queue.flush();
  assert.equal(browser.requests.length, 1, "Retry-After was not honoured");
  Date.now = ((now) => () => now() + 11_000)(Date.now);
  browser.status = 400;
  await queue.flush();
  await queue.flush();
  assert.equal(browser.requests.length, 2, "a batch that was refused was sent again");
  queue.add(signal(2));
  browser.status = 0;
  await queue.flush();
  Date.now = ((now) => () => now() + 24 * 3_600_000)(Date.now);
  browser.status = 200;
  await queue.flush();
  assert.equal(browser.requests.length, 2, "a batch was sent after 24 hours, and might be stored twice");
  for (let n = 0; n < 501; n += 1) {
    queue.add(signal(n, 0));
  }
  await queue.flush();
  assert.deepEqual(browser.requests.slice(2).map(({ body }) => JSON.parse(body).signals.length), [500, 1]);
}
{
  // A key that is no longer valid: the next page, which has a new one, sends the batch.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "old");
  queue.add(signal(1));
  browser.status = 401;
  await queue.flush();
  queue.add(signal(2));
  await queue.flush();
  browser.leave();
  await settled();
  assert.equal(browser.requests.length, 1, "a page went on with a key that was refused");
  browser.status = 200;
  await createQueue("https://b.test", "other").flush();
  assert.equal(browser.requests.length, 1, "a batch was sent to another address");
  await createQueue("https://a.test", "new").flush();
  assert.deepEqual(ids(browser.requests.slice(1)).sort(), [1, 2]);
  assert.equal(browser.kept.size, 0);
}
{
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  browser.status = 0;
  await queue.flush();
  Date.now = ((now) => () => now() + 24 * 3_600_000)(Date.now);
  createQueue("https://b.test", "key");
  assert.equal(browser.kept.size, 0, "a batch of an address that is no longer used stays for ever");
}
{
  const browser = openBrowser();
  Object.defineProperty(globalThis, "localStorage", {
    get: () => {
      throw new Error("SecurityError");
    },
    configurable: true,
  });
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  await queue.flush();
  assert.deepEqual(ids(browser.requests), [1], "a page without storage sent nothing");
}
{
  // One signal that JSON cannot write costs no other one.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  for (const value of [() => 1, undefined, { n: () => 1 }, { n: NaN }, { n: [undefined] }, { n: new Date(NaN) }, { n: 1n }]) {
    assert.throws(() => queue.add(value as object), TypeError);
  }
  queue.add({ n: 2, absent: undefined, empty: null, at: new Date(0) });
  await queue.flush();
  const sent = JSON.parse(browser.requests[0]!.body).signals;
  assert.deepEqual(sent, [signal(1), { n: 2, empty: null, at: "1970-01-01T00:00:00.000Z" }]);
}
{
  // An outage of a day: more failures than a float has binary exponents.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  browser.status = 503;
  for (let n = 0; n < 1_100; n += 1) {
    Date.now = ((now) => () => now() + 60_000)(Date.now);
    await queue.flush();
  }
  assert.equal(browser.requests.length, 1_100);
}
for (const [name, status] of [["a key that was refused", 401], ["a network that is away", 0]] as const) {
  // More signals than a page may keep: the newest stay, and the site's own data has room.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  browser.status = status;
  errors.length = 0;
  for (let n = 0; n < 100; n += 1) {
    queue.add(signal(n, 10_000));
    await queue.flush();
  }
  assert.ok(charactersIn(browser.kept) <= 500_000, `${name} filled the storage`);
  assert.equal(errors.filter((message) => message.includes("the oldest are dropped")).length, 1, `${name}: not told once`);
  const kept = ids([...browser.kept.values()].map((body) => ({ body, keepalive: false })));
  assert.ok(kept.includes(99) && !kept.includes(0), `${name}: not the oldest were dropped`);
  // A second page, which does not know what the first one saves from now on, and another address.
  for (const other of [createQueue("https://a.test", "key"), createQueue("https://b.test", "key")]) {
    for (let n = 100; n < 200; n += 1) {
      queue.add(signal(n, 10_000));
      other.add(signal(n + 100, 10_000));
      await Promise.all([queue.flush(), other.flush()]);
    }
  }
  assert.ok(charactersIn(browser.kept) <= 500_000, `${name} filled the storage from several pages`);
  const newest = ids([...browser.kept.values()].map((body) => ({ body, keepalive: false })));
  assert.ok(newest.includes(199) && newest.includes(299), `${name}: the newest signals of a page were not kept`);
}
{
  // A page that is left sends what the browser takes, in bytes, and calls fetch for nothing else.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  browser.status = 0;
  for (let n = 0; n < 200; n += 1) {
    queue.add({ n });
    await queue.flush();
  }
  browser.calls = 0;
  browser.leave();
  await settled();
  assert.ok(browser.calls > 0 && browser.calls <= 64, `a page that was left called fetch ${browser.calls} times`);
}
{
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  for (let n = 0; n < 4; n += 1) {
    queue.add({ n, filling: "本".repeat(8_000) });
    browser.status = 0;
    await queue.flush();
  }
  browser.status = 200;
  browser.calls = 0;
  browser.leave();
  await settled();
  assert.deepEqual([browser.requests.length, browser.calls], [2, 2], "the limit of a page that is left is one of bytes");
}
{
  // A signal that the service does not take costs no other one.
  const browser = openBrowser();
  const queue = createQueue("https://a.test", "key");
  queue.add(signal(1));
  assert.throws(() => queue.add(signal(2, 600_000)), TypeError);
  queue.add(signal(3));
  await queue.flush();
  assert.deepEqual(ids(browser.requests), [1, 3]);
}
{
  openBrowser();
  for (const [baseUrl, key] of [["https://a.test", "a\nb"], ["https://a.test", "ключ"], ["https://u:p@a.test", "key"], ["https://a b", "key"]] as const) {
    assert.throws(() => createQueue(baseUrl, key), TypeError);
  }
}
console.log("The page's queue loses nothing.");
