// Uses openapi-fetch with the types that openapi-typescript made of openapi.yaml.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

declare const process: { env: Record<string, string | undefined> };

const { NAME, BASE_URL, SCRIPTED_URL, API_KEY } = process.env;
const clientOf = (baseUrl: string | undefined, key = API_KEY) =>
  createClient<paths>({ baseUrl: baseUrl ?? "", headers: { Authorization: `Bearer ${key}` } });

// Annotated, as in a program that builds its signals one by one.
type Schemas = components["schemas"];
const profile: Schemas["CustomerData"] = { firstName: "Ada", city: null, loyalty: { tier: "gold", points: [1, 2.5] } };
const update: Schemas["CustomerUpdate"] = { customerId: `c-${NAME}`, customerData: profile };
const data: Schemas["EventData"] = {
  price: 49.9, brand: "Acme", quantity: 12345678901, gift: true, coupon: { code: "SPRING", uses: [1, 2.5, null, { a: "b" }] },
};
const event: Schemas["Event"] = { customerId: `c-${NAME}`, eventType: "purchase", data, sessionId: "s-9" };
const step: Schemas["WorkflowStep"] = {
  emitterId: `e-${NAME}`, stepNodeId: "start", eventflowIdentifier: crypto.randomUUID(), data: { channel: "mail" },
};
const wrong: Schemas["Event"] = { customerId: "undefined", eventType: "purchase" };
const batch: Schemas["SignalBatch"] = { requestIdentifier: crypto.randomUUID(), signals: [event, step, wrong] };

function expect(what: string, wanted: unknown, got: unknown): void {
  if (JSON.stringify(wanted) !== JSON.stringify(got)) {
    throw new Error(`${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
  }
}

const client = clientOf(BASE_URL);
const ping = await client.GET("/api/sdk/ping");
expect("ping", { response: "pong" }, ping.data);

const customer = await client.PATCH("/api/customers", { body: update });
expect("the unknown field", ["/customerData/loyalty"], customer.data?.warnings.map(({ pointer }) => pointer));

for (const replayed of [false, true]) {
  const { data: answer, error } = await client.POST("/api/event-flows/signal", { body: batch });
  if (!answer) {
    throw new Error(`batch: ${JSON.stringify(error)}`);
  }
  expect("batch", [3, 2, 1, replayed], [answer.received, answer.accepted, answer.rejected, answer.replayed]);
  expect("its error", ["placeholder-identifier"], answer.fieldErrors.map(({ code }) => code));
}

// As a program handles a problem: a response of API Gateway has no code.
const { error, response } = await client.POST("/api/event-flows/signal", { body: { signals: [wrong] } });
expect("a batch without a valid signal", [400, "validation-failed", "placeholder-identifier", 1],
  error && "code" in error && [response.status, error.code, error.fieldErrors[0]?.code, "rejected" in error && error.rejected]);
const unauthorized = await clientOf(BASE_URL, "wrong").GET("/api/sdk/ping");
expect("a wrong key", "unauthorized", unauthorized.error && "code" in unauthorized.error && unauthorized.error.code);

const later = clientOf(SCRIPTED_URL);
const { data: answer } = await later.POST("/api/event-flows/signal", { body: batch });
expect("a later service", [2, "later-error", "later-warning"], [answer?.deferred, answer?.fieldErrors[0]?.code, answer?.warnings[0]?.code]);
const changed = await later.POST("/api/customers", { body: update });
expect("a result that is not known", "later-result", changed.data?.result);
