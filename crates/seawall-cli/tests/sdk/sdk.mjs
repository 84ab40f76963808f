// The providers' own JavaScript libraries against `seawall mock`: node sdk.mjs PATH/TO/seawall
//
// The same promises as in sdk.py, where it says why. What differs is what these libraries do by themselves: they read
// streams and bodies after their retries are over, and unpack embeddings in a way of their own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { AzureOpenAI } from "openai";
import Stripe from "stripe";

const PROMPT = "What is a seawall?";
const MESSAGES = [{ role: "user", content: PROMPT }];
const CHAT = { model: "m", messages: MESSAGES };
const MESSAGE = { model: "m", max_tokens: 50, messages: MESSAGES };
const PAYMENT = { amount: 500, currency: "eur", confirm: true, metadata: { order: "7" } };

const checks = [];
const check = (name, run) => checks.push([name, run]);

/** Starts a mock with these routes, hands it over, and ends it. With a dialect, all of its routes speak it. */
async function withMock(routes, use, dialect) {
  const folder = await mkdtemp(join(tmpdir(), "seawall-sdk-"));
  const options = ["mock", "-q", "--listen", "127.0.0.1:0"];
  if (dialect === undefined) {
    for (const route of routes) options.push("--route", route);
  } else {
    const tables = routes.map((route) => {
      const [match, script] = route.split(" = ");
      return `[[route]]\nmatch = '${match}'\nscript = '${script}'\ndialect = '${dialect}'\n`;
    });
    await writeFile(join(folder, "mock.toml"), tables.join(""));
    options.push(join(folder, "mock.toml"));
  }
  const child = spawn(process.argv[2], options, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("close", resolve));
  try {
    const line = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", resolve);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the mock ended with ${code}`)));
    });
    assert.match(line, /^mock listening on http:/);
    await use(new Mock(line.split(" ").at(-1)));
  } finally {
    child.kill();
    await ended;
    await rm(folder, { recursive: true });
  }
}

class Mock {
  constructor(url) {
    this.url = url;
  }

  async attempts() {
    const answer = await fetch(`${this.url}/__seawall/journal`);
    return (await answer.json()).attempts;
  }

  openai(options = {}) {
    return new OpenAI({ baseURL: `${this.url}/v1`, apiKey: "k", ...options });
  }

  anthropic(options = {}) {
    return new Anthropic({ baseURL: this.url, apiKey: "k", ...options });
  }

  stripe(options = {}) {
    const { hostname, port } = new URL(this.url);
    return new Stripe("sk_test_k", { host: hostname, port, protocol: "http", telemetry: false, ...options });
  }
}

/** The error of this kind that a promise must end with. */
async function raises(kind, promise) {
  const answer = await promise.catch((error) => ({ error }));
  assert.ok(answer?.error, `an error was expected, and this came: ${JSON.stringify(answer)}`);
  assert.ok(answer.error instanceof kind, `${kind.name} was expected, and this came: ${answer.error.stack}`);
  return answer.error;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

// --- OpenAI ----------------------------------------------------------------------------------------------------------

check("openai chats", () =>
  withMock(["POST /v1/chat/completions = 200"], async (mock) => {
    const answer = await mock.openai().chat.completions.create(CHAT);
    const text = answer.choices[0].message.content;
    assert.equal(answer.model, "mock:m");
    assert.ok(text.endsWith(PROMPT), text);
    const options = { stream: true, stream_options: { include_usage: true } };
    const chunks = await all(await mock.openai().chat.completions.create({ ...CHAT, ...options }));
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join(""), text);
    assert.deepEqual(chunks.at(-1).usage, answer.usage);
    const helped = await mock.openai().chat.completions.stream(CHAT).finalContent();
    assert.equal(helped, text);
  }),
);

check("openai responds", () =>
  withMock(["POST /v1/responses = 200"], async (mock) => {
    const answer = await mock.openai().responses.create({ model: "m", input: PROMPT });
    assert.ok(answer.output_text.endsWith(PROMPT), answer.output_text);
    const helped = await mock.openai().responses.stream({ model: "m", input: PROMPT }).finalResponse();
    assert.equal(helped.output_text, answer.output_text);
    assert.deepEqual(helped.usage, answer.usage);
  }),
);

check("openai embeds and lists", () =>
  withMock(["POST /v1/embeddings = 200", "GET /v1/models = 200"], async (mock) => {
    const asked = { model: "m", input: ["a", "b"] };
    const packed = await mock.openai().embeddings.create(asked);
    const plain = await mock.openai().embeddings.create({ ...asked, encoding_format: "float" });
    packed.data.forEach(({ embedding }, one) =>
      embedding.forEach((value, place) => assert.ok(Math.abs(value - plain.data[one].embedding[place]) < 1e-6)),
    );
    assert.deepEqual(packed.data.map(({ embedding }) => embedding.length), [8, 8]);
    assert.deepEqual((await all(mock.openai().models.list())).map(({ id }) => id), ["mock:small"]);
  }),
);

for (const [step, kind, code] of [
  ["400 code=context_length_exceeded", OpenAI.BadRequestError, "context_length_exceeded"],
  ["401", OpenAI.AuthenticationError, "invalid_api_key"],
  ["429", OpenAI.RateLimitError, "rate_limit_exceeded"],
  ["429 code=insufficient_quota", OpenAI.RateLimitError, "insufficient_quota"],
  ["500", OpenAI.InternalServerError, null],
  ["529", OpenAI.InternalServerError, null],
]) {
  check(`openai has a type for ${step}`, () =>
    withMock([`POST /v1/* = ${step}`], async (mock) => {
      const error = await raises(kind, mock.openai({ maxRetries: 0 }).chat.completions.create(CHAT));
      assert.deepEqual([error.code, error.requestID], [code, "req_mock_0_1"]);
    }),
  );
}

check("openai retries", () =>
  withMock(["POST /v1/* = 2x 503 retry-after-ms=1, 200"], async (mock) => {
    await mock.openai().chat.completions.create(CHAT);
    const attempts = await mock.attempts();
    assert.deepEqual(attempts.map(({ status }) => status), [503, 503, 200]);
    assert.deepEqual(attempts.map(({ retry_count }) => retry_count), ["0", "1", "2"]);
  }),
);

for (const step of ["truncate at=50%", "reset after=20"]) {
  check(`openai notices ${step}`, () =>
    withMock([`POST /v1/* = ${step}`], (mock) =>
      raises(Error, mock.openai({ maxRetries: 0 }).chat.completions.create(CHAT)),
    ),
  );
}

for (const end of ["cut", "error", "bad-json"]) {
  check(`openai notices a stream that ends with ${end}`, () =>
    withMock([`POST /v1/* = stream events=3 then=${end}`], async (mock) => {
      const stream = await mock.openai({ maxRetries: 0 }).chat.completions.create({ ...CHAT, stream: true });
      await raises(end === "error" ? OpenAI.APIError : Error, all(stream));
    }),
  );
}

check("azure answers its own client", () =>
  withMock(["POST /openai/deployments/* = 429 retry-after-ms=1, 200"], async (mock) => {
    const client = new AzureOpenAI({ endpoint: mock.url, apiVersion: "2024-10-21", apiKey: "k", deployment: "big" });
    const answer = await client.chat.completions.create(CHAT);
    assert.equal(answer.model, "mock:m");
  }),
);

// --- Anthropic -------------------------------------------------------------------------------------------------------

check("anthropic answers", () =>
  withMock(["POST /v1/messages* = 200"], async (mock) => {
    const client = mock.anthropic();
    const answer = await client.messages.create(MESSAGE);
    assert.equal(answer.model, "mock:m");
    assert.ok(answer.content[0].text.endsWith(PROMPT), answer.content[0].text);
    const final = await client.messages.stream(MESSAGE).finalMessage();
    assert.equal(final.content[0].text, answer.content[0].text);
    assert.equal(final.stop_reason, "end_turn");
    assert.equal(final.usage.output_tokens, answer.usage.output_tokens);
    const counted = await client.messages.countTokens({ model: "m", messages: MESSAGES });
    assert.equal(counted.input_tokens, answer.usage.input_tokens);
  }),
);

check("anthropic lists", () =>
  withMock(
    ["GET /v1/models = 200"],
    async (mock) => assert.deepEqual((await all(mock.anthropic().models.list())).map(({ id }) => id), ["mock:small"]),
    "anthropic",
  ),
);

for (const [status, kind, type] of [
  [401, Anthropic.AuthenticationError, "authentication_error"],
  [429, Anthropic.RateLimitError, "rate_limit_error"],
  [500, Anthropic.InternalServerError, "api_error"],
  [529, Anthropic.InternalServerError, "overloaded_error"],
]) {
  check(`anthropic has a type for ${status}`, () =>
    withMock([`POST /v1/messages = ${status}`], async (mock) => {
      const error = await raises(kind, mock.anthropic({ maxRetries: 0 }).messages.create(MESSAGE));
      assert.deepEqual([error.status, error.error.error.type], [status, type]);
      assert.equal(error.requestID, "req_mock_0_1");
    }),
  );
}

check("anthropic retries", () =>
  withMock(["POST /v1/messages = 529 retry-after-ms=1, 503 retry-after-ms=1, 200"], async (mock) => {
    await mock.anthropic().messages.create(MESSAGE);
    assert.deepEqual((await mock.attempts()).map(({ status }) => status), [529, 503, 200]);
  }),
);

check("anthropic notices a cut body", () =>
  withMock(["POST /v1/messages = truncate at=50%"], (mock) =>
    raises(Error, mock.anthropic({ maxRetries: 0 }).messages.create(MESSAGE)),
  ),
);

for (const end of ["cut", "error", "bad-json", "no-done"]) {
  check(`anthropic notices a stream that ends with ${end}`, () =>
    withMock([`POST /v1/messages = stream events=3 then=${end}`], async (mock) => {
      // By its helper: what reads single events does not look for the last one.
      const final = mock.anthropic({ maxRetries: 0 }).messages.stream(MESSAGE).finalMessage();
      await raises(end === "error" ? Anthropic.APIError : Error, final);
    }),
  );
}

// --- Stripe ----------------------------------------------------------------------------------------------------------

check("stripe pays with one key for all attempts", () =>
  withMock(["POST /v1/payment_intents = 2x 503, 200"], async (mock) => {
    const payment = await mock.stripe({ maxNetworkRetries: 2 }).paymentIntents.create(PAYMENT);
    assert.deepEqual([payment.amount, payment.status, payment.metadata.order], [500, "succeeded", "7"]);
    const attempts = await mock.attempts();
    assert.deepEqual(attempts.map(({ status }) => status), [503, 503, 200]);
    assert.equal(new Set(attempts.map(({ key }) => key)).size, 1);
    assert.ok(attempts[0].key);
  }),
);

for (const [step, kind, code] of [
  ["400 code=idempotency_error", Stripe.errors.StripeIdempotencyError, undefined],
  ["401", Stripe.errors.StripeAuthenticationError, undefined],
  ["402", Stripe.errors.StripeCardError, "card_declined"],
  ["429", Stripe.errors.StripeRateLimitError, "rate_limit"],
  ["500", Stripe.errors.StripeAPIError, undefined],
]) {
  check(`stripe has a type for ${step}`, () =>
    withMock([`POST /v1/payment_intents = ${step}`], async (mock) => {
      const error = await raises(kind, mock.stripe({ maxNetworkRetries: 0 }).paymentIntents.create(PAYMENT));
      assert.deepEqual([error.code, error.requestId], [code, "req_mock_0_1"]);
    }),
  );
}

for (const [step, expected] of [
  ["500, 200", [500]],
  ["429 code=lock_timeout, 200", [429, 200]],
  ["429, 200", [429]],
]) {
  check(`stripe obeys should-retry of ${step}`, () =>
    withMock([`POST /v1/payment_intents = ${step}`], async (mock) => {
      await mock.stripe({ maxNetworkRetries: 2 }).paymentIntents.create(PAYMENT).catch(() => undefined);
      assert.deepEqual((await mock.attempts()).map(({ status }) => status), expected);
    }),
  );
}

let failed = 0;
for (const [name, run] of checks) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
}
const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url)));
const versions = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
console.log(`${checks.length - failed} of ${checks.length} checks passed: ${versions.join(", ")}`);
process.exit(failed === 0 ? 0 : 1);
