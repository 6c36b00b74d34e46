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
  for (const status of [400, 401, 403, 404, 405, 413, 415, 422]) {
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
  globalThis.fetch = async () => new Response("{}", { status: (attempts += 1) > 1_100 ? 200 : 503 });
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
  [globalThis.setTimeout, Date.now] = [setTimeout, now];
  [Math.random, globalThis.fetch] = [draw, fetch];
  for (const value of [NaN, -Infinity, () => 1, Symbol("s"), 1n, [undefined], [{ a: NaN }], new Date(NaN)]) {
    const lossy = [signal, { ...signal, data: { price: value } }];
    await assert.rejects(sendBatch(lossy, { baseUrl: `${scripted}/200,,`, key }), TypeError, String(typeof value));
  }
  await assert.rejects(sendBatch([signal, undefined as any], { baseUrl: `${scripted}/200,,`, key }), /1 is undefined, which JSON cannot write/);
  await assert.rejects(sendBatch([{ price: NaN }], { baseUrl: `${scripted}/200,,`, key }), /price is NaN, which JSON cannot write/);
  assert.equal((await log("200,,")).length, 0, "a part of the batch was sent");
  await sendBatch([{ ...signal, eventflowIdentifier: undefined, data: { price: null } }], { baseUrl: `${scripted}/200,,`, key });
  assert.deepEqual(JSON.parse((await log("200,,"))[0]!.body).signals, [{ ...signal, data: { price: null } }]);
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
