// Sends a batch with the TypeScript client that was generated from openapi.yaml, and fails when a response is not as the
// contract has it.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

declare const process: { env: Record<string, string | undefined> };

const { BASE_URL: baseUrl, API_KEY: key } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

// Annotated, as in a program that builds its signals one by one.
type Schemas = components["schemas"];
const event: Schemas["Event"] = { customerId: "c-typescript", eventType: "purchase", data: { price: 12.5, tags: ["new"] }, sessionId: "s-9" };
const step: Schemas["WorkflowStep"] = { emitterId: crypto.randomUUID(), stepNodeId: "start", eventflowIdentifier: crypto.randomUUID(), data: {} };
const batch: Schemas["SignalBatch"] = {
  requestIdentifier: crypto.randomUUID(),
  signals: [event, step, { customerId: "c-typescript", eventType: "" }],
};

function expect(what: string, wanted: unknown, got: unknown): void {
  if (JSON.stringify(wanted) !== JSON.stringify(got)) {
    throw new Error(`${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
  }
}

const ping = await client.GET("/api/sdk/ping");
expect("ping", { response: "pong" }, ping.data);

const customer = await client.PATCH("/api/customers", {
  body: { customerId: "c-typescript", customerData: { firstName: "Ada", city: null, loyalty: { tier: "gold" } } },
});
expect("customer", "c-typescript", customer.data?.customerId);
expect("the unknown field", ["/customerData/loyalty"], customer.data?.warnings.map(({ pointer }) => pointer));

for (const replayed of [false, true]) {
  const { data, error } = await client.POST("/api/event-flows/signal", { body: batch });
  if (!data) {
    throw new Error(`batch: ${JSON.stringify(error)}`);
  }
  expect("batch", [3, 2, 1, replayed], [data.received, data.accepted, data.rejected, data.replayed]);
  expect("its errors", ["/signals/2/eventType"], data.fieldErrors.map(({ pointer }) => pointer));
  expect("its unknown member", ["/signals/0/sessionId"], data.warnings.map(({ pointer }) => pointer));
}

const invalid = await client.POST("/api/event-flows/signal", { body: { signals: [] } });
expect("an empty batch", [400, true], [invalid.response.status, invalid.error !== undefined && "code" in invalid.error]);

// One call says what arrived, as in the tests of an application.
const response = await fetch(`${process.env.INSPECTOR_URL}/signals?subject=c-typescript&count=4&wait=10s`);
const { signals } = await response.json() as { signals: { type: string; verdict: string; errors: { code: string }[] }[] };
const arrived = signals.map(({ type, verdict, errors }) => [type, verdict.replace("deferred", "stored"), ...errors.map(({ code }) => code)]);
expect("what arrived", [["purchase", "stored"], ["", "rejected", "blank"], ["purchase", "replayed"], ["", "replayed", "blank"]], arrived);

console.log("The TypeScript client sent a batch and read every response.");
