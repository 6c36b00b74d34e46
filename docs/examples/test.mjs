import assert from "node:assert/strict";
const { BASE_URL, API_KEY, INSPECTOR_URL } = process.env;
await fetch(`${INSPECTOR_URL}/reset`, { method: "POST", headers: { "X-Intake-Inspector": "1" } });

await fetch(`${BASE_URL}/api/event-flows/signal`, {   // your client
  method: "POST",
  headers: { Authorization: `Bearer ${API_KEY}`, "Content-Type": "application/json" },
  body: JSON.stringify({ signals: [{ customerId: "c1", eventType: "purchase", data: { price: 49.9 } }] }),
});

const response = await fetch(`${INSPECTOR_URL}/signals?type=purchase&wait=10s`);
const { signals } = await response.json();
const arrived = [];
for (const { subject, errors, data } of signals) arrived.push({ subject, errors, data });
assert.deepEqual(arrived, [{ subject: "c1", errors: [], data: { price: 49.9 } }]);
