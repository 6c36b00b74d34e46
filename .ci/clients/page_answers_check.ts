// Has docs/examples/page.ts meet answers, clocks and times: what is sent again, what is told, and what is not repeated.
import assert from "node:assert/strict";
import { HOUR, check, signal } from "./fake_browser.ts";

await check("what fails is sent again, with the same body", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  const answers = [
    "lost", "stored", "redirect", "<h1>Sign in</h1>", '{"offline":true}', '{"requestIdentifier":1,"accepted":1,"fieldErrors":[]}', "null", "[]", "",
    204, 301, 408, 425, 429, 500, 501, 503, 504, 599,
  ];
  for (const answer of answers) {
    browser.answer = answer;
    await page.flush();
    browser.pass(61_000);
  }
  browser.answer = 200;
  page.add(signal(2));
  await page.flush();
  browser.expectStored(1, 2);
  assert.equal(browser.requests.length, answers.length + 2);
  assert.equal(new Set(browser.requests.map(({ body }) => body)).size, 2, "the bodies of two attempts differ");
  assert.equal(browser.lines.filter((line) => line.startsWith("This is no response of the service")).length, 6);
  assert.deepEqual(browser.told, []);
  assert.equal(browser.kept.size, 0);
});

await check("a 403 of another server stops nothing", async (browser) => {
  const page = await browser.page();
  const { fetch } = globalThis;
  for (const status of [400, 401, 403, 404, 413]) {
    globalThis.fetch = async () => new Response("<h1>Sign in</h1>", { status });
    page.add(signal(status));
    await page.flush();
    browser.pass(61_000);
  }
  globalThis.fetch = fetch;
  await page.flush();
  browser.expectStored(400, 401, 403, 404, 413);
});

await check("a batch that fails again and again holds up no other one", async (browser) => {
  const page = await browser.page();
  const { fetch } = globalThis;
  globalThis.fetch = async (request: any, sent: any) => (sent.body.includes('"n":1,') ? Response.json({}, { status: 500 }) : fetch(request, sent));
  for (const n of [1, 2, 3]) {
    page.add(signal(n));
    await page.flush();
    browser.pass(61_000);
  }
  await page.flush();
  browser.expectStored(2, 3);
});

await check("Retry-After is honoured, also when the page is left or comes online", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  [browser.answer, browser.retryAfter] = [503, "30"];
  await page.flush();
  // Longer than the wait after one failure, and shorter than Retry-After.
  browser.pass(20_000);
  await page.flush();
  await page.fire("online");
  await page.fire("pagehide");
  assert.equal(browser.requests.length, 1);
  browser.pass(11_000);
  browser.answer = 200;
  await page.flush();
  browser.expectStored(1);
});

await check("a page that comes online does not wait", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = "lost";
  const { random } = Math;
  Math.random = () => 1;
  await page.flush();
  Math.random = random;
  browser.answer = 200;
  await page.flush();
  browser.expectStored();
  await page.fire("online");
  await page.flush();
  browser.expectStored(1);
});

await check("a clock that is set back holds up nothing", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = 503;
  await page.flush();
  browser.clock -= 2 * HOUR;
  browser.steady += 61_000;
  browser.answer = 200;
  page.add(signal(2));
  await page.flush();
  browser.expectStored(2);
  assert.deepEqual(browser.told.map(({ ns }) => ns), [[1]], "a batch of unknown age was sent, or nobody heard of it");
});

await check("a clock that is corrected by a second costs nothing", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.clock -= 1_000;
  page.add(signal(2));
  await page.flush();
  browser.expectStored(1, 2);
});

await check("a clock that was a year ahead repeats nothing that the service has forgotten", async (browser) => {
  const year = 365 * 24 * HOUR;
  browser.clock += year;
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = "stored";
  await page.flush();
  browser.clock -= year;
  browser.pass(48 * HOUR);
  browser.known.clear();
  browser.answer = 200;
  await (await browser.page()).flush();
  await page.flush();
  browser.expectStored(1);
  assert.deepEqual(browser.told.map(({ ns }) => ns), [[1]]);
});

for (const isOpen of [true, false]) {
  await check(`no age is known after the clock was set back while a page was ${isOpen ? "open" : "closed"}`, async (browser) => {
    browser.answer = "stored";
    let page = await browser.page();
    page.add(signal(1));
    await page.flush();
    browser.answer = 503;
    browser.pass(10 * HOUR);
    if (!isOpen) {
      page.add(signal(2));
    }
    await page.flush();
    browser.clock -= 3 * HOUR;
    if (!isOpen) {
      page.end();
      page = await browser.page();
    }
    await page.flush();
    // The first batch is 25 hours old, and by the clock 22.
    browser.pass(15 * HOUR);
    browser.known.clear();
    browser.answer = 200;
    await browser.page();
    await page.flush();
    browser.expectStored(1);
    assert.deepEqual(browser.told.flatMap(({ ns }) => ns), isOpen ? [1] : [1, 2]);
  });
}

await check("a day that passes drops a batch, and tells it", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = "stored";
  await page.flush();
  browser.clock += 24 * HOUR;
  browser.known.clear();
  browser.answer = 200;
  await page.flush();
  browser.expectStored(1);
  assert.deepEqual(browser.told.map(({ ns }) => ns), [[1]]);
  assert.match(browser.told[0]!.reason!, /23 hours/);
});

await check("rejected signals are told", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  page.add({ n: 2, isInvalid: true });
  await page.flush();
  page.add({ n: 3, isInvalid: true });
  await page.flush();
  browser.expectStored(1);
  assert.deepEqual(browser.told, [{ pointers: ["/signals/1"], ns: [1, 2] }, { pointers: ["/signals/0"], ns: [3] }]);
  const logging = await browser.page("https://a.test", "key", {});
  logging.add({ n: 4, isInvalid: true });
  await logging.flush();
  assert.deepEqual(browser.lines, ["The service rejected signals: /signals/0: is invalid"]);
});

await check("a batch that is refused is told, and not sent again", async (browser) => {
  const page = await browser.page();
  for (const status of [400, 413, 415, 422]) {
    browser.answer = status;
    page.add(signal(status));
    await page.flush();
    await page.flush();
  }
  assert.equal(browser.requests.length, 4);
  assert.deepEqual(browser.told.map(({ ns }) => ns), [[400], [413], [415], [422]]);
  const logging = await browser.page("https://a.test", "key", {});
  logging.add(signal(1));
  await logging.flush();
  assert.match(browser.lines.join(), /^Signals dropped: 1. It was refused with 422/);
});

await check("a callback that throws costs no signal", async (browser) => {
  const thrown: unknown[] = [];
  const { queueMicrotask } = globalThis;
  globalThis.queueMicrotask = (callback) => queueMicrotask(() => {
    try {
      callback();
    } catch (error) {
      thrown.push(error);
    }
  });
  const fail = () => {
    throw new Error("of the page");
  };
  const page = await browser.page("https://a.test", "key", { onRejected: fail, onDropped: fail });
  page.add({ n: 1, isInvalid: true });
  await page.flush();
  page.add(signal(2));
  await page.flush();
  globalThis.queueMicrotask = queueMicrotask;
  browser.expectStored(2);
  assert.equal(thrown.length, 1);
});

await check("a key that was refused stops a page, and the next one sends its batches", async (browser) => {
  const page = await browser.page("https://a.test", "old");
  page.add(signal(1));
  browser.answer = 401;
  await page.flush();
  page.add(signal(2));
  await page.flush();
  await page.fire("pagehide");
  assert.equal(browser.requests.length, 1, "a page went on with a key that was refused");
  page.end();
  browser.pass(11_000);
  browser.answer = 200;
  await (await browser.page("https://b.test", "other")).flush();
  assert.equal(browser.requests.length, 1, "a batch was sent to another address");
  await (await browser.page("https://a.test", "new")).flush();
  browser.expectStored(1, 2);
  assert.equal(browser.kept.size, 0);
});

await check("an outage of a day has more failures than a float has binary exponents", async (browser) => {
  const page = await browser.page();
  page.add(signal(1));
  browser.answer = 503;
  for (let n = 0; n < 1_100; n += 1) {
    browser.pass(60_000);
    await page.flush();
  }
  assert.equal(browser.requests.length, 1_100);
});
