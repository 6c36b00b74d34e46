// Sends a batch with docs/examples/retry.mts, and prints what was told of it: of .ci/clients/situations.py.
import { sendBatch } from "./retry.mts";

const { BASE_URL: baseUrl = "", COUNT = "0", TIMEOUT_MS, CLOCK_MS = "0,0" } = process.env;
const signals = Array.from({ length: Number(COUNT) }, (_, index) => ({ customerId: "c", eventType: "t", n: index }));
// How much the computer's clock is ahead, until the first attempt and from then on.
const [before = 0, after = 0] = CLOCK_MS.split(",").map(Number);
const { now } = Date;
const { fetch } = globalThis;
let attempts = 0;
Date.now = () => now() + (attempts === 0 ? before : after);
globalThis.fetch = async (...request) => {
  const response = fetch(...request);
  attempts += 1;
  return response;
};
Math.random = () => 0.02;
try {
  const { accepted } = await sendBatch(signals, { baseUrl, key: "key", timeoutMs: Number(TIMEOUT_MS) });
  console.log(`accepted ${accepted}`);
} catch (error) {
  console.log(`told: ${error}`);
}
