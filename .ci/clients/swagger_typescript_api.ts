// Uses the client that swagger-typescript-api made of openapi.yaml. It throws the response of every status but a 2xx.
import { Api } from "./swagger_typescript_api_client.js";
import type { CustomerUpdate, Event, HttpResponse, Problem, SignalBatch, WorkflowStep } from "./swagger_typescript_api_client.js";

declare const process: { env: Record<string, string | undefined> };

const { NAME, BASE_URL, SCRIPTED_URL, API_KEY } = process.env;
const clientOf = (baseUrl = "", key = API_KEY) =>
  new Api({ baseUrl, securityWorker: () => ({ headers: { Authorization: `Bearer ${key}` } }) }).api;

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

// The error of a response that was thrown.
async function problemOf(sent: Promise<unknown>): Promise<Problem | undefined> {
  try {
    await sent;
  } catch (thrown) {
    return (thrown as HttpResponse<unknown, Problem>).error;
  }
  return undefined;
}

const client = clientOf(BASE_URL);
expect("ping", { response: "pong" }, (await client.ping()).data);
const customer = (await client.patchCustomer(update)).data;
expect("the unknown field", ["/customerData/loyalty"], customer.warnings.map(({ pointer }) => pointer));

for (const replayed of [false, true]) {
  const answer = (await client.postSignals(batch)).data;
  expect("batch", [3, 2, 1, replayed], [answer.received, answer.accepted, answer.rejected, answer.replayed]);
  expect("its error", ["placeholder-identifier"], answer.fieldErrors.map(({ code }) => code));
}

const rejected = await problemOf(client.postSignals({ signals: [wrong] }));
expect("a batch without a valid signal", ["validation-failed", "placeholder-identifier"], [rejected?.code, rejected?.fieldErrors[0]?.code]);
expect("a wrong key", "unauthorized", (await problemOf(clientOf(BASE_URL, "wrong").ping()))?.code);

const later = clientOf(SCRIPTED_URL);
const answer = (await later.postSignals(batch)).data;
expect("a later service", [2, "later-error", "later-warning"], [answer.deferred, answer.fieldErrors[0]?.code, answer.warnings[0]?.code]);
expect("a result that is not known", "later-result", (await later.postCustomer(update)).data.result);
