// Uses the client that hey-api (@hey-api/openapi-ts) made of openapi.yaml.
import { patchCustomer, ping, postCustomer, postSignals } from "./hey_api/index.ts";
import type { CustomerUpdate, Event, SignalBatch, WorkflowStep } from "./hey_api/index.ts";
import { createClient } from "./hey_api/client/index.ts";

declare const process: { env: Record<string, string | undefined> };

const { NAME, BASE_URL, SCRIPTED_URL, API_KEY } = process.env;
const clientOf = (baseUrl = "", key = API_KEY ?? "") => createClient({ baseUrl, auth: key });

const update: CustomerUpdate = {
  customerId: `c-${NAME}`, customerData: { firstName: "Ada", city: null, loyalty: { tier: "gold", points: [1, 2.5] } },
};
const data = {
  price: 49.9, brand: "Acme", quantity: 12345678901, gift: true, coupon: { code: "SPRING", uses: [1, 2.5, null, { a: "b" }] },
};
const event: Event = { customerId: `c-${NAME}`, eventType: "purchase", data, sessionId: "s-9" };
const step: WorkflowStep = {
  emitterId: `e-${NAME}`, stepNodeId: "start", eventflowIdentifier: crypto.randomUUID(), data: { channel: "mail" },
};
const wrong: Event = { customerId: "undefined", eventType: "purchase" };
const batch: SignalBatch = { requestIdentifier: crypto.randomUUID(), signals: [event, step, wrong] };

function expect(what: string, wanted: unknown, got: unknown): void {
  if (JSON.stringify(wanted) !== JSON.stringify(got)) {
    throw new Error(`${what}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
  }
}

const client = clientOf(BASE_URL);
expect("ping", { response: "pong" }, (await ping({ client })).data);
const customer = await patchCustomer({ client, body: update });
expect("the unknown field", ["/customerData/loyalty"], customer.data?.warnings.map(({ pointer }) => pointer));

for (const replayed of [false, true]) {
  const { data: answer, error } = await postSignals({ client, body: batch });
  if (!answer) {
    throw new Error(`batch: ${JSON.stringify(error)}`);
  }
  expect("batch", [3, 2, 1, replayed], [answer.received, answer.accepted, answer.rejected, answer.replayed]);
  expect("its error", ["placeholder-identifier"], answer.fieldErrors.map(({ code }) => code));
}

// As a program handles a problem: a response of API Gateway has no code.
const { error } = await postSignals({ client, body: { signals: [wrong] } });
expect("a batch without a valid signal", ["validation-failed", "placeholder-identifier", 1],
  error && "code" in error && [error.code, error.fieldErrors[0]?.code, "rejected" in error && error.rejected]);
const unauthorized = await ping({ client: clientOf(BASE_URL, "wrong") });
expect("a wrong key", "unauthorized", unauthorized.error && "code" in unauthorized.error && unauthorized.error.code);

const later = clientOf(SCRIPTED_URL);
const { data: answer } = await postSignals({ client: later, body: batch });
expect("a later service", [2, "later-error", "later-warning"], [answer?.deferred, answer?.fieldErrors[0]?.code, answer?.warnings[0]?.code]);
const changed = await postCustomer({ client: later, body: update });
expect("a result that is not known", "later-result", changed.data?.result);
