// Sends a batch of signals, and sends it again until it is answered: docs/clients.md, The retry recipe.

const RETRIED = [429, 500, 502, 503, 504];
const MAX_WAIT_MS = 60_000;
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export type Options = {
  baseUrl: string;
  key: string;
  /** How long one attempt may take: 30 seconds or more. */
  timeoutMs?: number;
  /** When to give up. The service forgets the requestIdentifier after 24 hours: never later. */
  giveUpAfterMs?: number;
};

export type Answer = {
  requestIdentifier: string;
  received: number;
  accepted: number;
  rejected: number;
  deferred?: number;
  replayed: boolean;
  fieldErrors: { field: string; pointer: string; code: string; message: string }[];
  warnings: { field: string; pointer: string; code: string; message: string }[];
};

export async function sendBatch(signals: object[], options: Options): Promise<Answer> {
  const { baseUrl, key, timeoutMs = 60_000, giveUpAfterMs = 24 * 3_600_000 } = options;
  // An address that is no URL, and a key that no header can have, are refused: another attempt would not change them.
  const address = /^https?:\/\//.test(baseUrl) && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (address === undefined || address.username || address.password) {
    throw new Error("The base address must be a URL that begins with https:// or http://, without a user name.");
  }
  const headers = { Authorization: `Bearer ${checkedKey(key)}`, "Content-Type": "application/json" };
  const request = new Request(`${baseUrl}/api/event-flows/signal`, { method: "POST", headers });
  // The same body in each attempt, so that the signals are stored once.
  const body = JSON.stringify({ requestIdentifier: crypto.randomUUID(), signals }, refuseLoss);
  const bytes = new TextEncoder().encode(body).length;
  if (bytes > MAX_BODY_BYTES) {
    throw new Error(`The body has ${bytes} bytes, and may have ${MAX_BODY_BYTES}: send fewer signals at once.`);
  }
  const giveUpAt = Date.now() + giveUpAfterMs;
  for (let attempt = 0; ; attempt += 1) {
    const response = await post(request, body, timeoutMs);
    if (response.status === 200) {
      return JSON.parse(response.text) as Answer;
    }
    if (response.status !== undefined && !RETRIED.includes(response.status)) {
      throw new Error(`The batch was refused with ${response.status}: ${response.text}`);
    }
    const waitMs = waitBefore(attempt + 1, response.retryAfter);
    let isTimeLeft = Date.now() + waitMs + timeoutMs <= giveUpAt;
    if (isTimeLeft) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      // The computer may have slept longer.
      isTimeLeft = Date.now() + timeoutMs <= giveUpAt;
    }
    if (!isTimeLeft) {
      const last = response.status ?? `no response, ${response.text}`;
      throw new Error(`Gave up after ${attempt + 1} attempts; some signals may be stored. Last: ${last}`);
    }
  }
}

/** The key without the line break of the file it was read from. A message of fetch would show a key that no header can have. */
function checkedKey(key: string): string {
  const trimmed = (key ?? "").trim();
  if (!/^[!-~]+$/.test(trimmed)) {
    throw new Error("The key is empty, or has a character that no key has: a space, a line break, or one that is not ASCII.");
  }
  return trimmed;
}

/** Has JSON.stringify throw where it would write null for a value, or leave it out. A field that is undefined is absent. */
function refuseLoss(this: any, name: string, value: unknown): unknown {
  const isUnwritable = typeof value === "function" || typeof value === "symbol" || (typeof value === "number" && !Number.isFinite(value));
  const isHole = value === undefined && (Array.isArray(this) || name === "");
  // The JSON of a Date that is not valid is null.
  const isInvalidDate = value === null && this[name] !== null;
  if (isUnwritable || isHole || isInvalidDate) {
    throw new TypeError(`${name || "The signal"} is ${String(this[name])}, which JSON cannot write.`);
  }
  return value;
}

type AttemptResult = { status?: number; text: string; retryAfter?: string | null };

/** The response, once it is there as a whole. Without a response in time: no status, and the reason. */
async function post(request: Request, body: string, timeoutMs: number): Promise<AttemptResult> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(request, { body, signal });
    const text = await response.text();
    return { status: response.status, text, retryAfter: response.headers.get("retry-after") };
  } catch (error) {
    // The cause says which port is closed, or which host is unknown.
    const { cause } = error as Error;
    return { text: cause === undefined ? String(error) : `${error}: ${cause}` };
  }
}

function waitBefore(attempt: number, retryAfter: string | null | undefined): number {
  if (retryAfter && /^[0-9]+$/.test(retryAfter)) {
    return Number(retryAfter) * 1_000;
  }
  return Math.random() * Math.min(500 * 2 ** attempt, MAX_WAIT_MS);
}
