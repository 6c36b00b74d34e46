// Tests of a shop's checkout. Four workers share one local stack: each has an account, so that none meets what another one sends.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { beforeEach, describe, it } from "node:test";

const { BASE_URL, INSPECTOR_URL, INTAKE = "cargo intake --local" } = process.env;

/* The client under test: it sends a batch again while the response says that this may help. */
class Checkout {
  constructor(key) {
    this.headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
  }
  async send(...signals) {
    const body = JSON.stringify({ requestIdentifier: crypto.randomUUID(), signals });
    for (let attempts = 1; ; attempts++) {
      const response = await fetch(`${BASE_URL}/api/event-flows/signal`, { method: "POST", headers: this.headers, body });
      const mayHelp = response.status === 429 || response.status >= 500;
      if (!mayHelp || attempts === 4) return { attempts, status: response.status, ...(await response.json()) };
    }
  }
  add = (productId, price) => this.send({ customerId: "ada", eventType: "added_to_cart", data: { productId, price } });
  pay = (price) => this.send({ customerId: "ada", eventType: "purchase", data: { price } });
}

/* What a worker has: a client with a key of its own account, and what the inspector says of that account. */
class Worker {
  constructor(name) {
    this.account = `${name}-${Date.now()}`;
    const [program, ...options] = INTAKE.split(" ");
    const key = execFileSync(program, [...options, "keys", "create", "--account", this.account, "--name", "tests"], { encoding: "utf8" });
    this.checkout = new Checkout(key.trim());
  }
  async inspect(method, path, body) {
    const response = await fetch(INSPECTOR_URL + path, { method, body, headers: { "X-Intake-Inspector": "1" } });
    assert.ok(response.ok, `${path}: ${response.status}`);
    return response.status === 204 ? undefined : response.json();
  }
  reset = () => this.inspect("POST", `/reset?account=${this.account}`);
  signals = async () => (await this.inspect("GET", `/signals?account=${this.account}`)).signals;
  counts = (query = "") => this.inspect("GET", `/counts?account=${this.account}${query}`);
  /* What the next requests of this worker get. */
  answer = (...answers) => this.inspect("POST", "/answers", JSON.stringify({ account: this.account, answers }));
}

/* The tests of a worker, one after another, each from a clean start. */
function tests(name, all) {
  describe(name, { concurrency: 1 }, () => {
    const worker = new Worker(name);
    beforeEach(() => worker.reset());
    for (const [title, test] of Object.entries(all)) it(title, () => test(worker, worker.checkout));
  });
}

describe("checkout", { concurrency: 4 }, () => {
  tests("cart", {
    "a product that is added is an event of its customer": async (worker, checkout) => {
      await checkout.add("p-17", 49.9);
      const [{ subject, type, data }] = await worker.signals();
      assert.deepEqual([subject, type, data], ["ada", "added_to_cart", { productId: "p-17", price: 49.9 }]);
    },
    "two products are two events": async (worker, checkout) => {
      await Promise.all([checkout.add("p-17", 49.9), checkout.add("p-18", 10)]);
      assert.equal((await worker.counts("&type=added_to_cart")).distinct, 2);
    },
    "a product without an id is sent without it": async (worker, checkout) => {
      await checkout.add(undefined, 10);
      assert.deepEqual((await worker.signals())[0].data, { price: 10 });
    },
  });
  tests("payment", {
    "a purchase comes after what was added": async (worker, checkout) => {
      await checkout.add("p-17", 49.9);
      await checkout.pay(49.9);
      assert.deepEqual((await worker.signals()).map(({ type }) => type), ["added_to_cart", "purchase"]);
    },
    "a purchase is counted once": async (worker, checkout) => {
      await checkout.pay(49.9);
      assert.equal((await worker.counts("&type=purchase&subject=ada")).distinct, 1);
    },
    "no event is rejected": async (worker, checkout) => {
      await checkout.pay(0);
      assert.equal((await worker.counts()).rejected, 0);
    },
  });
  tests("retries", {
    "a purchase arrives at the third attempt": async (worker, checkout) => {
      await worker.answer("503", "503", "200");
      assert.equal((await checkout.pay(49.9)).attempts, 3);
      assert.equal((await worker.counts()).distinct, 1);
    },
    "each attempt has the same requestIdentifier": async (worker, checkout) => {
      await worker.answer("429", "503");
      await checkout.pay(49.9);
      const identifiers = (await worker.signals()).map(({ requestIdentifier }) => requestIdentifier);
      assert.deepEqual([identifiers.length, new Set(identifiers).size], [3, 1]);
    },
    "the client gives up after four attempts": async (worker, checkout) => {
      await worker.answer("503", "503", "503", "503");
      assert.equal((await checkout.pay(49.9)).status, 503);
      assert.equal((await worker.counts()).distinct, 0);
    },
  });
  tests("outages", {
    "a purchase that was stored before the timeout is not stored twice": async (worker, checkout) => {
      await worker.answer("timeout:1s");
      assert.equal((await checkout.pay(49.9)).replayed, true);
      assert.equal((await worker.counts()).distinct, 1);
    },
    "a purchase outlives an outage of DynamoDB": async (worker, checkout) => {
      await worker.answer("storage-unavailable", "storage-unavailable");
      assert.equal((await checkout.pay(49.9)).accepted, 1);
    },
    "what follows an outage is sent once": async (worker, checkout) => {
      await worker.answer("storage-unavailable");
      await checkout.pay(49.9);
      assert.equal((await checkout.add("p-17", 49.9)).attempts, 1);
    },
  });
});
