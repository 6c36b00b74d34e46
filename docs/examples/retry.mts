// Sends a batch of signals, and sends it again until it is answered: docs/clients.md, The retry recipe.

const MAX_WAIT_MS = 60_000;
const MAX_BODY_BYTES = 4 * 1024 * 1024;
// After this time, the service forgets the requestIdentifier, and would store the batch a second time.
const FORGET_AFTER_MS = 24 * 3_600_000;

export type Options = {
  baseUrl: string;
  key: string;
  /** How long one attempt may take: 30 seconds or more. */
  timeoutMs?: number;
  /** When to give up: after 24 hours, or earlier. */
  giveUpAfterMs?: number;
  /** Gets the errors of the signals that the service rejected, and the batch. Without this callback: a line on the console. */
  onRejected?: (fieldErrors: FieldError[], signals: object[]) => void;
};

export type FieldError = { field: string; pointer: string; code: string; message: string };

export type Answer = {
  requestIdentifier: string;
  received: number;
  accepted: number;
  rejected: number;
  deferred?: number;
  replayed: boolean;
  fieldErrors: FieldError[];
  warnings: FieldError[];
};

export async function sendBatch(signals: object[], options: Options): Promise<Answer> {
  const { baseUrl, key, timeoutMs = 60_000, onRejected = logRejected } = options;
  const giveUpAfterMs = Math.min(options.giveUpAfterMs ?? FORGET_AFTER_MS, FORGET_AFTER_MS);
  // A malformed address or key is refused before the first attempt.
  const address = /^https?:\/\//.test(baseUrl) && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (address === undefined || address.username || address.password) {
    throw new Error("The base address must be a URL that begins with https:// or http://, without a user name.");
  }
  const headers = { Authorization: `Bearer ${checkedKey(key)}`, "Content-Type": "application/json" };
  // A redirect is not followed: it would take the key and the signals elsewhere.
  const request = new Request(`${baseUrl}/api/event-flows/signal`, { method: "POST", headers, redirect: "manual" });
  // The same body in each attempt, so that the signals are stored once.
  const requestIdentifier = crypto.randomUUID();
  const body = JSON.stringify({ requestIdentifier, signals }, refuseLoss);
  const bytes = new TextEncoder().encode(body).length;
  if (bytes > MAX_BODY_BYTES) {
    throw new Error(`The body has ${bytes} bytes, and may have ${MAX_BODY_BYTES}: send fewer signals at once.`);
  }
  const ageMs = startAge();
  for (let attempt = 1; ; attempt += 1) {
    const response = await post(request, body, timeoutMs);
    const answer = response.status === 200 ? readAnswer(response.text, requestIdentifier) : undefined;
    if (answer !== undefined) {
      if (answer.fieldErrors.length > 0) {
        onRejected(answer.fieldErrors, signals);
      }
      return answer;
    }
    const last = response.status === undefined ? `no response, ${response.text}` : `${response.status}: ${response.text}`;
    if (!isRepeated(response.status)) {
      throw new Error(`The batch was refused with ${last}`);
    }
    if (response.status !== undefined && response.status < 300) {
      console.warn(`This is no response of the service, so the batch is sent again. Is ${baseUrl} right? ${last.slice(0, 300)}`);
    }
    const waitMs = waitBefore(attempt, response.retryAfter);
    let isTimeLeft = ageMs() + waitMs + timeoutMs <= giveUpAfterMs;
    if (isTimeLeft) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      // The computer may have slept longer.
      isTimeLeft = ageMs() + timeoutMs <= giveUpAfterMs;
    }
    if (!isTimeLeft) {
      throw new Error(`Gave up after ${attempt} attempts; some signals may be stored. Last: ${last}`);
    }
  }
}

/** Includes the 2xx of another server, such as a proxy's page: it does not say that the batch is stored. */
function isRepeated(status: number | undefined): boolean {
  return status === undefined || status < 300 || [408, 425, 429].includes(status) || status >= 500;
}

/** Undefined if the text is not the service's answer to this batch. */
function readAnswer(text: string, requestIdentifier: string): Answer | undefined {
  try {
    const answer = JSON.parse(text) as Answer | null;
    const isOfService = answer?.requestIdentifier === requestIdentifier && Number.isInteger(answer.accepted) && Array.isArray(answer.fieldErrors);
    return isOfService ? answer : undefined;
  } catch {
    return undefined;
  }
}

function logRejected(fieldErrors: FieldError[]): void {
  console.error(`The service rejected signals: ${fieldErrors.map(({ pointer, message }) => `${pointer}: ${message}`).join(" ")}`);
}

/** Measures the time since its call. The computer's clock can be set back, and the steady one stops while the computer sleeps: of each
    step, the longer one counts. */
function startAge(): () => number {
  let [clock, steady, ageMs] = [Date.now(), performance.now(), 0];
  return () => {
    const [clockNow, steadyNow] = [Date.now(), performance.now()];
    ageMs += Math.max(clockNow - clock, steadyNow - steady);
    [clock, steady] = [clockNow, steadyNow];
    return ageMs;
  };
}

/** The key without the line break of the file it was read from. A message of fetch would show a key that no header can have. */
function checkedKey(key: string): string {
  const trimmed = (key ?? "").trim();
  if (!/^[!-~]+$/.test(trimmed)) {
    throw new Error("The key is empty, or has a character that no key has: a space, a line break, or one that is not ASCII.");
  }
  return trimmed;
}

/** Makes JSON.stringify throw an error for a value that it would replace by null, leave out, or write as {} although it is not empty,
    such as a Map or an Error. A field that is undefined is left out. */
function refuseLoss(this: any, name: string, value: unknown): unknown {
  const plain = value instanceof Number ? value.valueOf() : value;
  const isUnwritable = typeof plain === "function" || typeof plain === "symbol" || (typeof plain === "number" && !Number.isFinite(plain));
  const isHole = value === undefined && (Array.isArray(this) || name === "");
  // The JSON of a Date that is not valid is null.
  const isInvalidDate = value === null && this[name] !== null;
  if (isUnwritable || isHole || isInvalidDate || isEmptied(value)) {
    throw new TypeError(`${name || "The signal"} is ${String(this[name])}, which JSON cannot write.`);
  }
  return value;
}

/** Objects that keep their content where JSON.stringify does not look. An Error may have fields, but never its message. */
function isEmptied(value: unknown): boolean {
  const kind = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const isWritten = typeof value !== "object" || ["Null", "Object", "Array", "Number", "String", "Boolean"].includes(kind);
  return !isWritten && (kind === "Error" || Object.keys(value as object).length === 0);
}

type AttemptResult = { status?: number; text: string; retryAfter?: string | null };

/** Returns the response when all of it has arrived. If there is none in time, returns the reason, and no status. */
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
