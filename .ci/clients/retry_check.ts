// Has the recipe of docs/examples/retry.mts meet scripted answers (SCRIPTED_URL), and then the local stack with --answer.
import assert from "node:assert/strict";
import { sendBatch } from "./retry.mts";

const { BASE_URL: stack = "", API_KEY: key = "", SCRIPTED_URL: scripted = "", TIMEOUT_MS } = process.env;
const signal = { customerId: "c", eventType: "t" };
// Short waits; not none, which would hide a wait that is too long.
Math.random = () => 0.02;

const MAX_BODY_BYTES = 4_194_304;
const log = async (script: string) => await (await fetch(`${scripted}/${script}/log`)).json() as { at: number; authorization: string; body: string }[];

if (scripted) {
  const script = "503-3,429,drop,cut-200,cut-503,latin-502,500,502,504,200";
  await sendBatch([signal], { baseUrl: `${scripted}/${script}`, key });
  const requests = await log(script);
  assert.equal(requests.length, 10);
  assert.equal(new Set(requests.map(({ body }) => body)).size, 1, "the bodies differ");
  assert.deepEqual(JSON.parse(requests[0]!.body).signals, [signal]);
  const waited = requests[1]!.at - requests[0]!.at;
  assert.ok(waited >= 2.9, `Retry-After is 3, and it waited ${waited} s`);
  const foreign = "408,425,429,500,501,505,599,html,json,echo,204,200";
  console.warn = () => {};
  assert.equal((await sendBatch([signal], { baseUrl: `${scripted}/${foreign}`, key })).accepted, 1);
  assert.equal((await log(foreign)).length, 12, "it did not repeat what was not answered, or took the response of another server for success");
  await assert.rejects(sendBatch([signal], { baseUrl: `${scripted}/redirect`, key }), /refused with 302/);
  assert.deepEqual(await log("elsewhere-redirect"), [], "the key was sent to the host that a redirect names");
  for (const step of ["drip", "hang"]) {
    const began = performance.now();
    await assert.rejects(sendBatch([signal], { baseUrl: `${scripted}/${step}`, key, timeoutMs: 500, giveUpAfterMs: 0 }), /Gave up after 1/);
    assert.ok(performance.now() - began < 1_500, `${step}: an attempt took ${performance.now() - began} ms`);
  }
  {
    const told: unknown[] = [];
    const signals = [signal, { ...signal, n: 1 }];
    const onRejected = (...rejected: unknown[]) => told.push(rejected);
    const { accepted, fieldErrors } = await sendBatch(signals, { baseUrl: `${scripted}/rejected`, key, onRejected });
    assert.deepEqual([accepted, told], [1, [[fieldErrors, signals]]]);
    const lines: string[] = [];
    const { error } = console;
    console.error = (line: string) => lines.push(line);
    await sendBatch(signals, { baseUrl: `${scripted}/rejected`, key });
    console.error = error;
    assert.deepEqual(lines, ["The service rejected signals: /signals/0/eventType: signals[0].eventType must not be blank."]);
  }
  for (const status of [400, 401, 403, 404, 405, 409, 413, 415, 422]) {
    const refused = sendBatch([signal], { baseUrl: `${scripted}/${status}`, key });
    await assert.rejects(refused, new RegExp(`refused with ${status}`));
    assert.equal((await log(`${status}`)).length, 1, `${status} was sent again`);
  }
  // What the largest body has beside its text: the text is as long as the limit allows, and one byte longer.
  const frame = JSON.stringify({ requestIdentifier: crypto.randomUUID(), signals: [{ ...signal, data: { text: "" } }] });
  for (const [script, extra, sent] of [["413,,", 0, 1], ["413,,,", 1, 0]] as const) {
    const large = { ...signal, data: { text: "x".repeat(MAX_BODY_BYTES - frame.length + extra) } };
    const refused = sendBatch([large], { baseUrl: `${scripted}/${script}`, key });
    await assert.rejects(refused, extra === 0 ? /refused with 413/ : /send fewer signals at once/);
    assert.equal((await log(script)).length, sent);
  }
  // More attempts than a float has binary exponents, as in an outage of a day.
  const { fetch } = globalThis;
  const draw = Math.random;
  let attempts = 0;
  Math.random = () => 0;
  globalThis.fetch = async (_: unknown, { body }: any) => {
    const { requestIdentifier } = JSON.parse(body);
    return Response.json({ requestIdentifier, accepted: 1, fieldErrors: [] }, { status: (attempts += 1) > 1_100 ? 200 : 503 });
  };
  await sendBatch([signal], { baseUrl: scripted, key });
  assert.equal(attempts, 1_101);
  // A computer that sleeps for a day during a wait: the service has forgotten the requestIdentifier.
  const { setTimeout } = globalThis;
  const { now } = Date;
  attempts = 0;
  globalThis.fetch = async () => new Response("", { status: (attempts += 1) && 503 });
  globalThis.setTimeout = ((then: () => void) => {
    Date.now = () => now() + 25 * 3_600_000;
    then();
  }) as unknown as typeof setTimeout;
  await assert.rejects(sendBatch([signal], { baseUrl: scripted, key }), /Gave up after 1/);
  assert.equal(attempts, 1);
  // Set back by ten hours: 20 hours after the first attempt, the clock shows that ten have passed.
  const steadyNow = performance.now.bind(performance);
  const waits: number[] = [];
  let [clock, steady] = [36_000_000, 0];
  [Date.now, performance.now] = [() => clock, () => steady];
  globalThis.setTimeout = ((then: () => void) => {
    waits.push(steady);
    steady += 4 * 3_600_000;
    clock += 4 * 3_600_000 - (waits.length === 1 ? 36_000_000 : 0);
    then();
  }) as unknown as typeof setTimeout;
  await assert.rejects(sendBatch([signal], { baseUrl: scripted, key, giveUpAfterMs: Infinity }), /Gave up/);
  assert.ok(waits.at(-1)! <= 24 * 3_600_000, `it went on for ${waits.at(-1)! / 3_600_000} hours`);
  [globalThis.setTimeout, Date.now, performance.now] = [setTimeout, now, steadyNow];
  [Math.random, globalThis.fetch] = [draw, fetch];
  const emptied = [
    new Map([[1, 2]]), new Set([1]), new Error("e"), Object.assign(new Error("e"), { code: 1 }), /r/, new URLSearchParams("a=1"), new FormData(),
    new ArrayBuffer(1), new Blob(["b"]), new Headers({ a: "b" }), new Number(NaN),
  ];
  for (const value of [NaN, -Infinity, () => 1, Symbol("s"), 1n, [undefined], [{ a: NaN }], new Date(NaN), ...emptied]) {
    const lossy = [signal, { ...signal, data: { price: value } }];
    await assert.rejects(sendBatch(lossy, { baseUrl: `${scripted}/200,,`, key }), TypeError, String(typeof value));
  }
  await assert.rejects(sendBatch([signal, undefined as any], { baseUrl: `${scripted}/200,,`, key }), /1 is undefined, which JSON cannot write/);
  await assert.rejects(sendBatch([{ price: NaN }], { baseUrl: `${scripted}/200,,`, key }), /price is NaN, which JSON cannot write/);
  assert.equal((await log("200,,")).length, 0, "a part of the batch was sent");
  class Price {
    amount = new Number(1);
    get [Symbol.toStringTag]() {
      return "Price";
    }
  }
  const written = { price: null, of: new Price(), none: {}, list: [], plain: Object.create(null), at: new Date(0), url: new URL("https://a.test") };
  await sendBatch([{ ...signal, eventflowIdentifier: undefined, data: written }], { baseUrl: `${scripted}/200,,`, key });
  assert.deepEqual(JSON.parse((await log("200,,"))[0]!.body).signals, [{
    ...signal, data: { price: null, of: { amount: 1 }, none: {}, list: [], plain: {}, at: "1970-01-01T00:00:00.000Z", url: "https://a.test/" },
  }]);
  const givenUp = sendBatch([signal], { baseUrl: `${scripted}/503`, key, timeoutMs: 100, giveUpAfterMs: 300 });
  await assert.rejects(givenUp, /Gave up after/);
  for (const baseUrl of ["undefined", "localhost:9000", "http://", "https:///", "http://a.test:port", "http://a b.test"]) {
    await assert.rejects(sendBatch([signal], { baseUrl, key }), /must be a URL that begins with https/);
  }
  await assert.rejects(sendBatch([signal], { baseUrl: "http://u:secret@a.test", key }), ({ message }: Error) => !message.includes("secret"));
  const unsent = `${scripted}/200,,,,`;
  for (const wrong of ["", "\n", "secret\nkey", "secret key", "secret-ключ", "secret-é", "secret\0"]) {
    const isToldWithoutKey = ({ message }: Error) => message.startsWith("The key") && !message.includes("secret");
    await assert.rejects(sendBatch([signal], { baseUrl: unsent, key: wrong }), isToldWithoutKey, wrong);
  }
  // Each would be repeated for ever: no time is later than NaN.
  await assert.rejects(sendBatch([signal], { baseUrl: unsent, key, timeoutMs: NaN }), RangeError);
  await assert.rejects(sendBatch([signal], { baseUrl: `${scripted}/503,`, key, giveUpAfterMs: NaN }), /Gave up after 1/);
  assert.equal((await log("200,,,,")).length, 0, "what cannot be sent was sent");
  await sendBatch([signal], { baseUrl: unsent, key: `${key}\r\n` });
  assert.deepEqual((await log("200,,,,")).map(({ authorization }) => authorization), [`Bearer ${key}`]);
} else {
  const send = (batch: number) => sendBatch(
    Array.from({ length: 5 }, (_, n) => ({ customerId: `ts-${batch % 4}`, eventType: "t", data: { n: batch * 5 + n } })),
    { baseUrl: stack, key, timeoutMs: Number(TIMEOUT_MS) },
  );
  const answers = await Promise.all(Array.from({ length: 40 }, (_, batch) => send(batch)));
  assert.ok(answers.every(({ accepted, rejected }) => accepted === 5 && rejected === 0));
}
