// Has docs/examples/page.ts meet a browser's rules: pages that are left or killed, several pages, storage, and what the page adds.
import assert from "node:assert/strict";
import { HOUR, charactersIn, check, ids, settled, signal } from "./fake_browser.ts";
import { createQueue } from "./page.ts";

await check("an empty batch is not sent", async (browser) => {
  const page = await browser.page();
  await page.fire("pagehide");
  assert.deepEqual(browser.requests, []);
});

await check("a page that is left sends what a browser takes, and the next page the rest", async (browser) => {
  // 150 KB: three batches, of which the browser takes one.
  const page = await browser.page();
  const sent = Array.from({ length: 150 }, (_, n) => n);
  sent.forEach((n) => page.add(signal(n, 1_000)));
  await page.fire("pagehide");
  assert.equal(browser.requests.length, 1);
  assert.ok(browser.requests[0]!.keepalive);
  page.end();
  browser.pass(11_000);
  await (await browser.page()).flush();
  browser.expectStored(...sent);
  assert.equal(browser.kept.size, 0);
});

await check("what is under way counts among what a browser takes", async (browser) => {
  const page = await browser.page();
  let answer = () => {};
  browser.delay = new Promise((resolve) => {
    answer = resolve;
  });
  page.add(signal(1, 40_000));
  const flushed = page.flush();
  while (browser.requests.length === 0) {
    await settled();
  }
  page.add(signal(2, 40_000));
  await page.fire("pagehide");
  page.add(signal(3));
  await page.fire("pagehide");
  answer();
  await flushed;
  assert.deepEqual(browser.requests.map((sent) => [sent.keepalive, ...ids([sent])]), [[true, 1], [true, 3], [true, 2]]);
});

await check("a page that is hidden and then killed has sent its signals", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.visibilityState = "hidden";
  Object.assign(globalThis.document, { visibilityState: "hidden" });
  await page.fire("visibilitychange");
  page.end();
  browser.expectStored(1);
});

await check("a page that is killed has saved its signals", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  page.add(signal(2));
  page.end();
  browser.pass(1_000);
  const next = await browser.page();
  await next.flush();
  assert.deepEqual(browser.requests, [], "a page sent a batch to which another one may still add");
  browser.pass(11_000);
  await next.flush();
  browser.expectStored(1, 2);
});

await check("a batch of which another page knows is not changed", async (browser) => {
  const [first, second] = [await browser.page(), await browser.page()];
  first.add(signal(1));
  browser.pass(11_000);
  await second.flush();
  first.add(signal(2));
  await first.flush();
  browser.expectStored(1, 2);
  assert.equal(browser.requests.length, 2, "a batch was sent from two pages");
  first.add(signal(3));
  // The computer sleeps, and wakes up.
  browser.clock += HOUR;
  first.add(signal(4));
  await second.flush();
  first.add(signal(5));
  await first.flush();
  browser.expectStored(1, 2, 3, 4, 5);
});

await check("what is added while a batch is under way belongs to another batch", async (browser) => {
  const page = await browser.page();
  let answer = () => {};
  browser.delay = new Promise((resolve) => {
    answer = resolve;
  });
  page.add(signal(1));
  const flushed = page.flush();
  page.add(signal(2));
  while (browser.requests.length === 0) {
    await settled();
  }
  answer();
  await flushed;
  page.add(signal(3));
  await page.flush();
  assert.deepEqual(browser.requests.map((sent) => ids([sent])), [[1], [2, 3]]);
  browser.expectStored(1, 2, 3);
});

await check("a batch that another page has dropped does not come back", async (browser) => {
  const [first, second] = [await browser.page(), await browser.page()];
  first.add(signal(1));
  for (let n = 100; n < 150; n += 1) {
    browser.pass(10);
    second.add(signal(n, 10_000));
  }
  first.add(signal(2));
  await first.flush();
  assert.ok(browser.told.flatMap(({ ns }) => ns).includes(1));
  assert.ok(browser.stored.has(2) && !browser.stored.has(1), "a batch that was told as dropped was sent");
});

await check("a batch is sent once when the page is left as its turn comes", async (browser) => {
  const page = await browser.page();
  page.add({ n: 1, isInvalid: true });
  page.add(signal(2));
  const flushed = page.flush();
  await null;
  await null;
  await page.fire("pagehide");
  await flushed;
  assert.equal(browser.requests.length, 1);
  assert.equal(browser.told.length, 1, "the page was told twice");
});

await check("several pages send a backlog once", async (browser) => {
  const pages = await Promise.all(Array.from({ length: 4 }, () => browser.page()));
  browser.answer = "lost";
  for (const [n, page] of pages.entries()) {
    for (let more = 0; more < 5; more += 1) {
      page.add(signal(10 * n + more));
      await page.flush();
    }
  }
  browser.pass(70_000);
  [browser.answer, browser.requests.length] = [200, 0];
  await Promise.all(pages.map((page) => page.flush()));
  browser.expectStored(0, 1, 2, 3, 4, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 30, 31, 32, 33, 34);
  assert.equal(browser.requests.length, 20, "a batch was sent from two pages");
});

await check("signals stay when the site clears its storage", async (browser) => {
  const page = await browser.page();
  browser.answer = "lost";
  page.add(signal(1));
  await page.flush();
  browser.kept.clear();
  await page.fire("storage");
  browser.pass(70_000);
  browser.answer = 200;
  await page.flush();
  browser.expectStored(1);
});

await check("a batch has at most 500 signals", async (browser) => {
  const page = await browser.page();
  for (let n = 0; n < 501; n += 1) {
    page.add(signal(n, 0));
  }
  await page.flush();
  assert.deepEqual(browser.requests.map(({ body }) => JSON.parse(body).signals.length).sort(), [1, 500]);
});

await check("a batch of an address that is no longer used goes", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = "lost";
  await page.flush();
  browser.kept.set("intake:settings", "of the site");
  browser.pass(24 * HOUR);
  await (await browser.page("https://b.test")).flush();
  assert.deepEqual([...browser.kept.keys()], ["intake:settings"]);
});

await check("a page without storage sends, also when it is left", async (browser) => {
  for (const localStorage of [null, "throws"]) {
    const storage = browser.storage;
    browser.storage = () => null as any;
    const page = await browser.page();
    browser.storage = storage;
    if (localStorage === "throws") {
      const get = () => {
        throw new DOMException("denied", "SecurityError");
      };
      Object.defineProperty(globalThis, "localStorage", { get, configurable: true });
    }
    const opened = localStorage === "throws" ? createQueue("https://a.test", "key", browser.callbacks()) : page;
    opened.add(signal(browser.stored.size + 1));
    await opened.flush();
  }
  const page = await browser.page();
  page.add(signal(3));
  await page.fire("pagehide");
  browser.expectStored(1, 2, 3);
});

await check("a page with a full storage sends, and saves no body but the last one", async (browser) => {
  const [page, other] = [await browser.page(), await browser.page()];
  page.add(signal(1));
  browser.isStorageFull = true;
  page.add(signal(2));
  assert.equal(browser.kept.size, 0, "another page would send a part of the batch under its requestIdentifier");
  browser.pass(11_000);
  await other.flush();
  await page.flush();
  browser.expectStored(1, 2);
});

await check("a page of plain HTTP needs no randomUUID and no locks", async (browser) => {
  const { randomUUID } = crypto;
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  const page = await browser.page();
  Object.defineProperty(globalThis, "navigator", { value: {}, configurable: true, writable: true });
  page.add(signal(1));
  await page.flush();
  Object.defineProperty(crypto, "randomUUID", { value: randomUUID, configurable: true });
  browser.expectStored(1);
  assert.match(JSON.parse(browser.requests[0]!.body).requestIdentifier, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

await check("a server is told what the queue is for", async (browser) => {
  await browser.page();
  Object.defineProperty(globalThis, "document", { value: undefined, configurable: true, writable: true });
  assert.throws(() => createQueue("https://a.test", "key"), /a page in a browser: create the queue there. A server sends with retry.mts/);
});

await check("one signal that JSON cannot write costs no other one", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  const lossy = [
    () => 1, undefined, { n: () => 1 }, { n: NaN }, { n: [undefined] }, { n: new Date(NaN) }, { n: 1n }, { n: new Map() }, { n: new Set() },
    { n: new Error("e") }, { n: /r/ }, { n: new URLSearchParams("a=1") }, { n: new FormData() }, { n: new ArrayBuffer(1) }, { n: new Blob(["b"]) },
    { n: new Number(NaN) }, new Map(),
  ];
  for (const value of lossy) {
    assert.throws(() => page.add(value as object), TypeError);
  }
  class Point {
    n = 3;
  }
  page.add({ n: 2, absent: undefined, empty: null, at: new Date(0), nothing: {} });
  page.add(new Point());
  await page.flush();
  const sent = JSON.parse(browser.requests[0]!.body).signals;
  assert.deepEqual(sent, [signal(1), { n: 2, empty: null, at: "1970-01-01T00:00:00.000Z", nothing: {} }, { n: 3 }]);
});

await check("a signal that the service does not take costs no other one", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  assert.throws(() => page.add(signal(2, 600_000)), TypeError);
  page.add(signal(3));
  await page.flush();
  browser.expectStored(1, 3);
});

for (const [name, answer] of [["a key that was refused", 401], ["a network that is away", "lost"]] as const) {
  await check(`${name} leaves the site room in its storage: the newest signals stay`, async (browser) => {
    const page = await browser.page();
    browser.answer = answer;
    browser.kept.set("intake:settings", "of the site");
    for (let n = 0; n < 100; n += 1) {
      browser.pass(10);
      page.add(signal(n, 10_000));
      await page.flush();
    }
    assert.ok(charactersIn(browser.kept) <= 500_000);
    assert.ok(browser.kept.delete("intake:settings"), "what the site has stored was dropped");
    const kept = ids([...browser.kept.values()].map((body) => ({ body })));
    const dropped = browser.told.flatMap(({ ns }) => ns);
    assert.ok(kept.includes(99) && !kept.includes(0), "not the oldest were dropped");
    assert.deepEqual([...dropped, ...kept].sort((a, b) => a - b), Array.from({ length: 100 }, (_, n) => n), "nobody heard of a signal");
    // A second page, and another address.
    for (const other of [await browser.page(), await browser.page("https://b.test")]) {
      for (let n = 100; n < 200; n += 1) {
        browser.pass(10);
        page.add(signal(n, 10_000));
        other.add(signal(n + 100, 10_000));
        await Promise.all([page.flush(), other.flush()]);
      }
    }
    assert.ok(charactersIn(browser.kept) <= 500_000);
    const newest = ids([...browser.kept.values()].map((body) => ({ body })));
    assert.ok(newest.includes(199) && newest.includes(299), "the newest signals of a page were not kept");
  });
}

await check("a page that is left calls fetch for what the browser takes, in bytes", async (browser) => {
  const page = await browser.page();
  browser.answer = "lost";
  for (let n = 0; n < 200; n += 1) {
    page.add({ n });
    await page.flush();
  }
  browser.requests.length = 0;
  await page.fire("pagehide");
  assert.ok(browser.requests.length > 0 && browser.requests.length <= 64, `it called fetch ${browser.requests.length} times`);
});

await check("the limit of a page that is left is one of bytes", async (browser) => {
  const page = await browser.page();
  browser.answer = "lost";
  for (let n = 0; n < 4; n += 1) {
    page.add({ n, filling: "本".repeat(8_000) });
    await page.flush();
  }
  [browser.answer, browser.requests.length] = [200, 0];
  await page.fire("pagehide");
  assert.equal(browser.stored.size, 2);
  assert.equal(browser.requests.length, 2);
});

await check("an address and a key that no request can have are refused", async (browser) => {
  for (const [baseUrl, key] of [["https://a.test", "a\nb"], ["https://a.test", "ключ"], ["https://u:p@a.test", "key"], ["https://a b", "key"]] as const) {
    await assert.rejects(browser.page(baseUrl, key), TypeError);
  }
});
