// What Intake's two functions do, as a first version in Node.js would have it: the AWS SDK with its defaults, one call
// after the other. `cargo bench -- --peers` measures it; nothing deploys it.
//
// It looks the API key up by its hash and remembers it for a minute, validates what docs/api.md says of the documented
// fields (not sizes, duplicate fields and near misses), and writes the same items with as many calls. It has no
// warnings, no overflow queue and no key snapshot, and keeps no rejected signals.

import { createHash, randomBytes, randomInt, randomUUID } from "node:crypto";
import { Agent, request as httpRequest } from "node:http";
import {
  BatchWriteItemCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { marshall } from "@aws-sdk/util-dynamodb";

const FIELDS = new Set([
  "email", "phoneNumber", "firstName", "lastName", "gender", "dob", "city", "state", "country", "zip",
]);
const RESERVED = new Set([
  "pk", "accountId", "customerId", "createdAt", "updatedAt", "fence", "fenceId", "expiresAt",
]);
const DOCUMENTED = ["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier"];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const KEY_LIFETIME = 60_000;
const ITEMS_OF_A_CALL = 25;

const dynamodb = new DynamoDBClient();
const keys = new Map();

class Problem extends Error {
  constructor(status, code, fieldErrors = []) {
    super(code);
    this.status = status;
    this.body = { status, code, fieldErrors };
  }
}

async function handle(event) {
  try {
    const account = await authenticate(event.headers.authorization ?? "");
    const body = readBody(event);
    const store = event.rawPath === "/api/event-flows/signal" ? storeSignals : updateCustomer;
    return respond(200, await store(account, body));
  } catch (problem) {
    if (problem instanceof Problem) return respond(problem.status, problem.body);
    throw problem;
  }
}

function respond(statusCode, body) {
  const headers = { "content-type": "application/json" };
  return { statusCode, headers, body: JSON.stringify(body), isBase64Encoded: false };
}

async function authenticate(header) {
  const [scheme, key] = header.split(" ", 2);
  if (scheme.toLowerCase() !== "bearer" || !key) throw new Problem(401, "missing-api-key");
  const keyHash = sha256(key);
  let known = keys.get(keyHash);
  if (!known || Date.now() - known.readAt > KEY_LIFETIME) {
    const command = new GetItemCommand({ TableName: process.env.API_KEYS_TABLE, Key: { keyHash: { S: keyHash } } });
    known = { item: (await dynamodb.send(command)).Item, readAt: Date.now() };
    if (known.item) keys.set(keyHash, known);
  }
  const { item } = known;
  const isExpired = item?.expiresAt && Number(item.expiresAt.N) * 1000 <= Date.now();
  if (!item || item.revokedAt || isExpired) throw new Problem(401, "invalid-api-key");
  return item.accountId.S;
}

function sha256(text) {
  return createHash("sha256").update(text).digest("hex");
}

function readBody(event) {
  const mediaType = (event.headers["content-type"] ?? "").split(";")[0].trim().toLowerCase();
  if (mediaType !== "application/json") throw new Problem(415, "unsupported-media-type");
  const text = event.isBase64Encoded ? Buffer.from(event.body, "base64").toString() : event.body;
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem(400, "malformed-json");
  }
  if (!isObject(body)) throw new Problem(400, "invalid-type");
  return body;
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isText(value) {
  return typeof value === "string" && value.trim() !== "";
}

async function updateCustomer(account, { customerId, customerData }) {
  const errors = isText(customerId) ? [] : [{ pointer: "/customerId", code: "required" }];
  if (!isObject(customerData)) {
    throw new Problem(400, "validation-failed", [...errors, { pointer: "/customerData", code: "invalid-type" }]);
  }
  for (const [name, value] of Object.entries(customerData)) {
    if (RESERVED.has(name) || name.startsWith("fence:")) {
      errors.push({ pointer: `/customerData/${name}`, code: "reserved-name" });
    } else if (FIELDS.has(name) && value !== null && typeof value !== "string") {
      errors.push({ pointer: `/customerData/${name}`, code: "invalid-type" });
    }
  }
  if (errors.length > 0) throw new Problem(400, "validation-failed", errors);
  const updatedAt = new Date().toISOString();
  const fence = (BigInt(Date.now()) << 20n) | BigInt(randomInt(2 ** 20));
  const set = { accountId: account, customerId, updatedAt, fence, fenceId: randomBytes(16) };
  const removed = [];
  for (const [name, value] of Object.entries(customerData)) {
    if (value === null) removed.push(name);
    else set[name] = value;
  }
  for (const name of Object.keys(customerData)) set[`fence:${name}`] = fence;
  const names = { "#created": "createdAt", "#fence": "fence" };
  [...Object.keys(set), ...removed].forEach((name, index) => (names[`#${index}`] = name));
  const values = { ":created": updatedAt, ":fence": fence };
  Object.values(set).forEach((value, index) => (values[`:${index}`] = value));
  const count = Object.keys(set).length;
  const sets = Object.keys(set).map((_, index) => `#${index} = :${index}`);
  const removes = removed.map((_, index) => `#${count + index}`);
  const remove = removes.length > 0 ? ` REMOVE ${removes.join(", ")}` : "";
  const { Attributes: old = {} } = await dynamodb.send(
    new UpdateItemCommand({
      TableName: process.env.CUSTOMERS_TABLE,
      Key: { pk: { S: `${account}#${customerId}` } },
      UpdateExpression: `SET ${sets.join(", ")}, #created = if_not_exists(#created, :created)${remove}`,
      ConditionExpression: "attribute_not_exists(#fence) OR #fence < :fence",
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: marshall(values),
      ReturnValues: "UPDATED_OLD",
    }),
  );
  return { customerId, result: old.fence ? "updated" : "created", updatedAt, warnings: [] };
}

function errorsOf(signal) {
  if (!isObject(signal)) return [{ pointer: "", code: "invalid-type" }];
  const isEvent = "customerId" in signal || "eventType" in signal;
  const isStep = "emitterId" in signal || "stepNodeId" in signal;
  if (isEvent === isStep) return [{ pointer: "", code: isEvent ? "ambiguous-identity" : "missing-identity" }];
  const names = isEvent ? ["customerId", "eventType"] : ["emitterId", "stepNodeId"];
  const errors = names
    .filter((name) => !isText(signal[name]))
    .map((name) => ({ pointer: `/${name}`, code: "required" }));
  const flow = signal.eventflowIdentifier ?? null;
  if ((isStep || flow !== null) && !(typeof flow === "string" && UUID.test(flow))) {
    errors.push({ pointer: "/eventflowIdentifier", code: "invalid-uuid" });
  }
  const data = signal.data ?? null;
  if (data !== null && !isObject(data)) errors.push({ pointer: "/data", code: "invalid-type" });
  return errors;
}

async function storeSignals(account, { signals, requestIdentifier }) {
  if (!Array.isArray(signals) || signals.length < 1 || signals.length > 500) {
    throw new Problem(400, "validation-failed", [{ pointer: "/signals", code: "invalid-size" }]);
  }
  const identifier = requestIdentifier ?? null;
  if (identifier !== null && !(typeof identifier === "string" && UUID.test(identifier))) {
    throw new Problem(400, "validation-failed", [{ pointer: "/requestIdentifier", code: "invalid-uuid" }]);
  }
  const receivedAt = new Date().toISOString();
  const request = identifier ?? randomUUID();
  const rejected = [];
  const items = [];
  signals.forEach((signal, index) => {
    const errors = errorsOf(signal);
    if (errors.length === 0) items.push(itemOf(account, request, receivedAt, index, signal));
    else rejected.push(...errors.map((error) => ({ ...error, pointer: `/signals/${index}${error.pointer}` })));
  });
  if (items.length === 0) throw new Problem(400, "validation-failed", rejected);
  if (identifier !== null) await writeRecord(account, identifier, receivedAt, JSON.stringify(signals));
  await storeItems(items.map((Item) => ({ PutRequest: { Item } })));
  return {
    requestIdentifier: request,
    accepted: items.length,
    rejected: signals.length - items.length,
    fieldErrors: rejected,
    replayed: false,
    warnings: [],
  };
}

function itemOf(account, request, receivedAt, index, signal) {
  const item = {
    pk: `${account}#${signal.customerId ?? signal.emitterId}`,
    sk: `${receivedAt}#${request.toLowerCase()}#${String(index).padStart(4, "0")}`,
    accountId: account,
    data: signal.data ?? {},
    requestIdentifier: request,
    receivedAt,
  };
  const undocumented = {};
  for (const [name, value] of Object.entries(signal)) {
    if (DOCUMENTED.includes(name)) {
      if (value !== null) item[name] = value;
    } else if (name !== "data") {
      undocumented[name] = value;
    }
  }
  if (Object.keys(undocumented).length > 0) item.undocumented = undocumented;
  return marshall(item);
}

async function writeRecord(account, identifier, receivedAt, body) {
  const record = {
    pk: `${account}#${identifier.toLowerCase()}`,
    accountId: account,
    receivedAt,
    bodyHash: sha256(body),
    expiresAt: Math.floor(Date.now() / 1000) + 86_400,
  };
  await dynamodb.send(
    new PutItemCommand({
      TableName: process.env.IDEMPOTENCY_TABLE,
      ConditionExpression: "attribute_not_exists(pk)",
      Item: marshall(record),
    }),
  );
}

async function storeItems(requests) {
  for (let start = 0; start < requests.length; start += ITEMS_OF_A_CALL) {
    let left = { [process.env.SIGNALS_TABLE]: requests.slice(start, start + ITEMS_OF_A_CALL) };
    while (left && Object.keys(left).length > 0) {
      left = (await dynamodb.send(new BatchWriteItemCommand({ RequestItems: left }))).UnprocessedItems;
    }
  }
}

// The loop of Lambda's Runtime API.
const agent = new Agent({ keepAlive: true });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const url = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation/${path}`;
    const outgoing = httpRequest(url, { method, agent }, async (response) => {
      const chunks = await response.toArray();
      resolve({ id: response.headers["lambda-runtime-aws-request-id"], text: Buffer.concat(chunks).toString() });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

for (;;) {
  const { id, text } = await call("GET", "next");
  const response = await handle(JSON.parse(text));
  await call("POST", `${id}/response`, JSON.stringify(response));
}
