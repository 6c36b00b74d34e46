// A reference implementation of both functions in Node.js with the AWS SDK v3, in the most common style: all defaults, one call
// after the other. It is measured and never deployed.

import { createHash, randomUUID } from "node:crypto";
import http from "node:http";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { BatchWriteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from "@aws-sdk/lib-dynamodb";

const CONTRACT = new Set(["customerId", "eventType", "emitterId", "stepNodeId", "eventflowIdentifier", "data"]);
const PLACEHOLDERS = new Set(["null", "undefined", "none", "nan", "nil", "[object object]"]);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const { API_KEYS_TABLE, CUSTOMERS_TABLE, IDEMPOTENCY_TABLE, SIGNALS_TABLE } = process.env;
const dynamodb = DynamoDBDocumentClient.from(new DynamoDBClient());
const cachedKeys = new Map();

async function handle(event) {
  const account = await accountOf(event.headers.authorization ?? "");
  if (account === undefined) return answer(401, { code: "unauthorized" });
  const body = JSON.parse(event.body);
  const [status, result] =
    event.rawPath === "/api/customers" ? await customer(account, body) : await signals(account, body, event.body);
  console.log(JSON.stringify({ status, account }));
  return answer(status, result);
}

async function accountOf(authorization) {
  if (!authorization.startsWith("Bearer ")) return undefined;
  const keyHash = sha256(authorization.slice(7));
  const cached = cachedKeys.get(keyHash);
  if (cached && performance.now() < cached.until) return cached.account;
  const { Item } = await dynamodb.send(
    new GetCommand({ TableName: API_KEYS_TABLE, Key: { keyHash }, ConsistentRead: true }),
  );
  if (Item) cachedKeys.set(keyHash, { account: Item.accountId, until: performance.now() + 60_000 });
  return Item?.accountId;
}

async function customer(account, body) {
  const { customerId, customerData } = body;
  if (!identifier(customerId) || !isObject(customerData)) return [400, { code: "validation-failed" }];
  const now = new Date().toISOString();
  let expression =
    "SET accountId = :account, customerId = :customer, updatedAt = :now, createdAt = if_not_exists(createdAt, :now)";
  const names = {};
  const values = { ":account": account, ":customer": customerId, ":now": now };
  for (const [index, [name, value]] of Object.entries(customerData).entries()) {
    expression += `, #${index} = :${index}`;
    names[`#${index}`] = name;
    values[`:${index}`] = value;
  }
  const output = await dynamodb.send(
    new UpdateCommand({
      TableName: CUSTOMERS_TABLE,
      Key: { pk: `${account}#${customerId}` },
      UpdateExpression: expression,
      ExpressionAttributeNames: names,
      ExpressionAttributeValues: values,
      ReturnValues: "UPDATED_OLD",
    }),
  );
  return [200, { customerId, result: output.Attributes ? "updated" : "created", updatedAt: now, warnings: [] }];
}

async function signals(account, body, sent) {
  const batch = body.signals;
  if (!Array.isArray(batch) || batch.length < 1 || batch.length > 500) return [400, { code: "validation-failed" }];
  const now = new Date().toISOString();
  let requestIdentifier = randomUUID();
  if (body.requestIdentifier) {
    requestIdentifier = uuid(body.requestIdentifier);
    await dynamodb.send(
      new PutCommand({
        TableName: IDEMPOTENCY_TABLE,
        Item: { pk: `${account}#${requestIdentifier}`, bodyHash: sha256(sent), receivedAt: now },
        ConditionExpression: "attribute_not_exists(pk)",
      }),
    );
  }
  const fieldErrors = [];
  const writes = [];
  for (const [index, signal] of batch.entries()) {
    const Item = itemOf(account, requestIdentifier, now, index, signal);
    if (Item) writes.push({ PutRequest: { Item } });
    else fieldErrors.push({ field: `signals[${index}]`, code: "invalid" });
  }
  for (let start = 0; start < writes.length; start += 25) {
    let left = { [SIGNALS_TABLE]: writes.slice(start, start + 25) };
    while (Object.keys(left).length > 0) {
      const output = await dynamodb.send(new BatchWriteCommand({ RequestItems: left }));
      left = output.UnprocessedItems ?? {};
    }
  }
  const counts = { received: batch.length, accepted: writes.length, rejected: fieldErrors.length };
  const result = { requestIdentifier, ...counts, replayed: false, fieldErrors, warnings: [] };
  return [writes.length > 0 ? 200 : 400, result];
}

function itemOf(account, requestIdentifier, now, index, signal) {
  const [subject, kind] = signal.customerId == null ? ["emitterId", "stepNodeId"] : ["customerId", "eventType"];
  const data = signal.data ?? {};
  if (!identifier(signal[subject]) || !identifier(signal[kind]) || !storable(data, 0)) return undefined;
  if (!Object.keys(signal).every((name) => CONTRACT.has(name))) return undefined;
  const item = {
    pk: `${account}#${signal[subject]}`,
    sk: `${now}#${requestIdentifier}#${String(index).padStart(4, "0")}`,
    accountId: account,
    [subject]: signal[subject],
    [kind]: signal[kind],
    data,
    requestIdentifier,
    receivedAt: now,
  };
  if (signal.eventflowIdentifier != null) item.eventflowIdentifier = uuid(signal.eventflowIdentifier);
  return item;
}

function identifier(value) {
  return (
    typeof value === "string" && value.trim() !== "" && value.length <= 256 && !PLACEHOLDERS.has(value.toLowerCase())
  );
}

function storable(value, depth) {
  if (Array.isArray(value)) return depth < 31 && value.every((member) => storable(member, depth + 1));
  if (!isObject(value)) return true;
  return depth < 31 && Object.entries(value).every(([name, member]) => name !== "" && storable(member, depth + 1));
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function uuid(text) {
  if (!UUID.test(text)) throw new TypeError("not a UUID");
  return text.toLowerCase();
}

function sha256(text) {
  return createHash("sha256").update(text).digest("hex");
}

function answer(statusCode, body) {
  return { statusCode, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const url = `http://${process.env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime/invocation/${path}`;
    const request = http.request(url, { method, agent }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, text: Buffer.concat(chunks).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

// What Lambda's own runtime does, on one connection.
while (true) {
  const { headers, text } = await call("GET", "next");
  const response = JSON.stringify(await handle(JSON.parse(text)));
  await call("POST", `${headers["lambda-runtime-aws-request-id"]}/response`, response);
}
