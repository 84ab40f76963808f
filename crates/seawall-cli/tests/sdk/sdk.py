"""The providers' own Python libraries against `seawall mock`: python sdk.py PATH/TO/seawall

What can go wrong: a mock that our own tests like and whose answers a real library refuses, or takes for something
else. So each library does here what its users do, and its own typed errors, retries and stream readers decide.
Every check starts a mock of its own; all are run, and each failure is told.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
import urllib.request

os.environ["NO_PROXY"] = "127.0.0.1"

import anthropic  # noqa: E402
import openai  # noqa: E402
import stripe  # noqa: E402
from google import genai  # noqa: E402
from google.genai import errors as genai_errors  # noqa: E402
from google.genai import types as genai_types  # noqa: E402

PROMPT = "What is a seawall?"
MESSAGES = [{"role": "user", "content": PROMPT}]
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


class Mock:
    """A mock with these routes; with a dialect, all of its routes speak it, and have `more` in their tables."""

    def __init__(self, *routes, dialect=None, more=""):
        self.file = None
        command = [sys.argv[1], "mock", "-q", "--listen", "127.0.0.1:0"]
        if dialect is None:
            for route in routes:
                command += ["--route", route]
        else:
            self.file = tempfile.NamedTemporaryFile("w", suffix=".toml")
            for route in routes:
                match, script = route.split(" = ", 1)
                self.file.write(f"[[route]]\nmatch = '{match}'\nscript = '{script}'\ndialect = '{dialect}'\n{more}\n")
            self.file.flush()
            command.append(self.file.name)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("mock listening on http://"), line
        self.url = line.split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        if self.file:
            self.file.close()

    def attempts(self):
        with urllib.request.urlopen(f"{self.url}/__seawall/journal") as answer:
            return json.load(answer)["attempts"]

    def openai(self, **options):
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="k", **options)

    def anthropic(self, **options):
        return anthropic.Anthropic(base_url=self.url, api_key="k", **options)

    def gemini(self, **options):
        return genai.Client(api_key="k", http_options=genai_types.HttpOptions(base_url=self.url, **options))

    def stripe(self, **options):
        return stripe.StripeClient("sk_test_k", base_addresses={"api": self.url}, **options)


def raises(kind, call):
    """The error of this kind that the call must end with."""
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind} was expected, and this came: {answer!r}")


def equal(found, expected):
    assert found == expected, f"{found!r} is not {expected!r}"


# --- OpenAI -----------------------------------------------------------------------------------------------------------


@check
def openai_chats():
    with Mock("POST /v1/chat/completions = 200") as mock:
        answer = mock.openai().chat.completions.create(model="m", messages=MESSAGES)
        equal(answer.model, "mock:m")
        equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)
        text = answer.choices[0].message.content
        assert text.endswith(PROMPT), text

        chunks = list(
            mock.openai().chat.completions.create(
                model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
            )
        )
        parts = [choice.delta.content or "" for chunk in chunks for choice in chunk.choices]
        equal("".join(parts), text)
        equal(chunks[-2].choices[0].finish_reason, "stop")
        equal(chunks[-1].usage, answer.usage)


@check
def openai_helpers_accept_the_stream():
    with Mock("POST /v1/chat/completions = 200") as mock:
        with mock.openai().chat.completions.stream(model="m", messages=MESSAGES) as stream:
            text = stream.get_final_completion().choices[0].message.content
        assert text.endswith(PROMPT), text


@check
def openai_completes():
    with Mock("POST /v1/completions = 200") as mock:
        answer = mock.openai().completions.create(model="m", prompt=PROMPT)
        stream = mock.openai().completions.create(model="m", prompt=PROMPT, stream=True)
        equal("".join(chunk.choices[0].text for chunk in stream), answer.choices[0].text)


@check
def openai_responds():
    with Mock("POST /v1/responses = 200") as mock:
        answer = mock.openai().responses.create(model="m", input=PROMPT)
        equal((answer.status, answer.model), ("completed", "mock:m"))
        assert answer.output_text.endswith(PROMPT), answer.output_text

        events = list(mock.openai().responses.create(model="m", input=PROMPT, stream=True))
        equal([event.sequence_number for event in events], list(range(len(events))))
        equal(events[-1].response.output_text, answer.output_text)
        with mock.openai().responses.stream(model="m", input=PROMPT) as stream:
            equal(stream.get_final_response().usage, answer.usage)


@check
def openai_embeds_and_lists():
    with Mock("POST /v1/embeddings = 200", "GET /v1/models* = 200") as mock:
        # The library asks for base64 unasked and unpacks it.
        packed = mock.openai().embeddings.create(model="m", input=["a", "b"])
        plain = mock.openai().embeddings.create(model="m", input=["a", "b"], encoding_format="float")
        for one, other in zip(packed.data, plain.data, strict=True):
            assert all(abs(x - y) < 1e-6 for x, y in zip(one.embedding, other.embedding, strict=True))
        equal([model.id for model in mock.openai().models.list()], ["mock:small"])
        equal(mock.openai().models.retrieve("m").id, "mock:m")


@check
def openai_errors_have_their_types():
    for step, kind, code in [
        ("400 code=context_length_exceeded", openai.BadRequestError, "context_length_exceeded"),
        ("401", openai.AuthenticationError, "invalid_api_key"),
        ("404", openai.NotFoundError, "model_not_found"),
        ("429", openai.RateLimitError, "rate_limit_exceeded"),
        ("429 code=insufficient_quota", openai.RateLimitError, "insufficient_quota"),
        ("500", openai.InternalServerError, None),
        ("529", openai.InternalServerError, None),
    ]:
        with Mock(f"POST /v1/* = {step}") as mock:
            client = mock.openai(max_retries=0)
            error = raises(kind, lambda: client.chat.completions.create(model="m", messages=MESSAGES))
            equal((error.code, error.request_id), (code, "req_mock_0_1"))


@check
def openai_retries():
    with Mock("POST /v1/* = 2x 503 retry-after-ms=1, 200") as mock:
        mock.openai().chat.completions.create(model="m", messages=MESSAGES)
        equal([attempt["status"] for attempt in mock.attempts()], [503, 503, 200])
        equal([attempt["retry_count"] for attempt in mock.attempts()], ["0", "1", "2"])


@check
def openai_notices_what_is_cut():
    for step in ["truncate at=50%", "reset after=20"]:
        with Mock(f"POST /v1/* = {step}") as mock:
            client = mock.openai(max_retries=0)
            raises(openai.APIConnectionError, lambda: client.chat.completions.create(model="m", messages=MESSAGES))
    for end, kind in [("cut", Exception), ("error", openai.APIError), ("bad-json", ValueError)]:
        with Mock(f"POST /v1/* = stream events=3 then={end}") as mock:
            stream = mock.openai(max_retries=0).chat.completions.create(model="m", messages=MESSAGES, stream=True)
            raises(kind, lambda: list(stream))


@check
def azure_answers_its_own_client():
    with Mock("POST /openai/deployments/* = 429 retry-after-ms=1, 200") as mock:
        client = openai.AzureOpenAI(azure_endpoint=mock.url, api_version="2024-10-21", api_key="k")
        answer = client.chat.completions.create(model="big", messages=MESSAGES)
        equal(answer.model, "mock:big")
        chunks = list(client.chat.completions.create(model="big", messages=MESSAGES, stream=True))
        # Azure's first chunk has no choice: the bug that readers of `choices[0]` have.
        equal(chunks[0].choices, [])


# --- Anthropic --------------------------------------------------------------------------------------------------------


@check
def anthropic_answers():
    with Mock("POST /v1/messages* = 200") as mock:
        client = mock.anthropic()
        asked = {"model": "m", "max_tokens": 50, "messages": MESSAGES, "system": "be short"}
        answer = client.messages.create(**asked)
        equal((answer.model, answer.stop_reason), ("mock:m", "end_turn"))
        assert answer.content[0].text.endswith(PROMPT), answer.content
        with client.messages.stream(**asked) as stream:
            equal("".join(stream.text_stream), answer.content[0].text)
            final = stream.get_final_message()
        equal((final.usage.input_tokens, final.usage.output_tokens), (answer.usage.input_tokens, answer.usage.output_tokens))
        counted = client.messages.count_tokens(model="m", messages=MESSAGES, system="be short")
        equal(counted.input_tokens, answer.usage.input_tokens)


@check
def anthropic_lists():
    # `/v1/models` is everybody's: by name it is Anthropic's.
    with Mock("GET /v1/models* = 200", dialect="anthropic") as mock:
        equal([model.id for model in mock.anthropic().models.list()], ["mock:small"])
        equal(mock.anthropic().models.retrieve("m").display_name, "mock:m")


@check
def anthropic_errors_have_their_types():
    for status, kind, name in [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ]:
        with Mock(f"POST /v1/messages = {status}") as mock:
            client = mock.anthropic(max_retries=0)
            error = raises(kind, lambda: client.messages.create(model="m", max_tokens=9, messages=MESSAGES))
            equal((error.status_code, error.body["error"]["type"]), (status, name))
            equal(error.request_id, "req_mock_0_1")


@check
def anthropic_retries():
    with Mock("POST /v1/messages = 529 retry-after-ms=1, 503 retry-after-ms=1, 200") as mock:
        mock.anthropic().messages.create(model="m", max_tokens=9, messages=MESSAGES)
        equal([attempt["status"] for attempt in mock.attempts()], [529, 503, 200])


@check
def anthropic_notices_what_is_cut():
    with Mock("POST /v1/messages = truncate at=50%") as mock:
        client = mock.anthropic(max_retries=0)
        raises(anthropic.APIConnectionError, lambda: client.messages.create(model="m", max_tokens=9, messages=MESSAGES))
    for end, kind in [("cut", Exception), ("error", anthropic.APIStatusError), ("bad-json", ValueError)]:
        with Mock(f"POST /v1/messages = stream events=3 then={end}") as mock:
            stream = mock.anthropic(max_retries=0).messages.create(
                model="m", max_tokens=9, messages=MESSAGES, stream=True
            )
            raises(kind, lambda: list(stream))


# --- Gemini -----------------------------------------------------------------------------------------------------------


@check
def gemini_answers():
    # The library asks below `/v1`, where `models` is everybody's: by name it is Gemini's.
    with Mock("* /v1/models* = 200", dialect="gemini") as mock:
        client = mock.gemini()  # kept: one that is let go closes its connections
        models = client.models
        answer = models.generate_content(model="m", contents=PROMPT)
        assert answer.text.endswith(PROMPT), answer.text
        equal(answer.model_version, "mock:m")
        usage = answer.usage_metadata
        equal(usage.total_token_count, usage.prompt_token_count + usage.candidates_token_count)
        chunks = list(models.generate_content_stream(model="m", contents=PROMPT))
        equal("".join(chunk.text or "" for chunk in chunks), answer.text)
        equal(chunks[-1].candidates[0].finish_reason.value, "STOP")
        equal(chunks[-1].usage_metadata.total_token_count, usage.total_token_count)
        equal(models.count_tokens(model="m", contents=PROMPT).total_tokens, usage.prompt_token_count)
        embedded = models.embed_content(model="m", contents=["a", "b"])
        equal([len(one.values) for one in embedded.embeddings], [8, 8])
        equal([model.name for model in models.list()], ["models/small"])


@check
def gemini_errors_have_their_types():
    for step, kind, status in [
        ("400 code=API_KEY_INVALID", genai_errors.ClientError, "INVALID_ARGUMENT"),
        ("429 retry-in=17s", genai_errors.ClientError, "RESOURCE_EXHAUSTED"),
        ("500", genai_errors.ServerError, "INTERNAL"),
        ("503", genai_errors.ServerError, "UNAVAILABLE"),
    ]:
        with Mock(f"POST /v1/models/* = {step}") as mock:
            client = mock.gemini()
            error = raises(kind, lambda: client.models.generate_content(model="m", contents=PROMPT))
            equal((error.code, error.status), (int(step.split()[0]), status))


@check
def gemini_retries_when_it_is_told_to():
    retry = genai_types.HttpRetryOptions(attempts=3, initial_delay=0.01, exp_base=1, jitter=0)
    with Mock("POST /v1/models/* = 2x 503, 200") as mock:
        client = mock.gemini(retry_options=retry)
        client.models.generate_content(model="m", contents=PROMPT)
        equal([attempt["status"] for attempt in mock.attempts()], [503, 503, 200])


@check
def gemini_notices_what_is_cut():
    with Mock("POST /v1/models/* = truncate at=50%") as mock:
        client = mock.gemini()
        raises(Exception, lambda: client.models.generate_content(model="m", contents=PROMPT))
    for end in ["cut", "error"]:
        with Mock(f"POST /v1/models/* = stream events=3 then={end}") as mock:
            client = mock.gemini()
            raises(Exception, lambda: list(client.models.generate_content_stream(model="m", contents=PROMPT)))


# --- Stripe -----------------------------------------------------------------------------------------------------------

PAYMENT = {"amount": 500, "currency": "eur", "confirm": True, "metadata": {"order": "7"}}


@check
def stripe_pays_with_one_key_for_all_attempts():
    with Mock("POST /v1/payment_intents = 2x 503, 200") as mock:
        client = mock.stripe(max_network_retries=2)
        payment = client.v1.payment_intents.create(params=PAYMENT)
        equal((payment.amount, payment.status, payment.metadata["order"]), (500, "succeeded", "7"))
        attempts = mock.attempts()
        equal([attempt["status"] for attempt in attempts], [503, 503, 200])
        keys = {attempt["key"] for attempt in attempts}
        assert len(keys) == 1 and None not in keys, keys


@check
def stripe_pays_once_though_the_answer_was_lost():
    keeps = "resource = 'payments'\nidempotency = { header = 'Idempotency-Key', ttl = '24h' }"
    with Mock("POST /v1/payment_intents = apply then reset, 200", dialect="stripe", more=keeps) as mock:
        client = mock.stripe(max_network_retries=2)
        payment = client.v1.payment_intents.create(params=PAYMENT)
        equal(len(mock.attempts()), 2)
        kept = client.v1.payment_intents.list().data
        equal([(one.id, one.amount, one.status) for one in kept], [(payment.id, 500, "succeeded")])


@check
def stripe_pays_by_its_older_way():
    with Mock("* /v1/* = 200", dialect="stripe") as mock:
        stripe.api_key, stripe.api_base = "sk_test_k", mock.url
        payment = stripe.PaymentIntent.create(**PAYMENT)
        equal(stripe.PaymentIntent.retrieve(payment.id).id, payment.id)
        equal(stripe.Customer.create(name="Mo", email="mo@example.com").name, "Mo")
        equal(list(stripe.Charge.list().auto_paging_iter()), [])
        equal(stripe.Customer.delete("cus_1").deleted, True)


@check
def stripe_errors_have_their_types():
    for step, kind, code in [
        ("400 code=idempotency_error", stripe.IdempotencyError, None),
        ("400 code=parameter_missing", stripe.InvalidRequestError, "parameter_missing"),
        ("401", stripe.AuthenticationError, None),
        ("402", stripe.CardError, "card_declined"),
        ("404", stripe.InvalidRequestError, "resource_missing"),
        ("429", stripe.RateLimitError, "rate_limit"),
        ("500", stripe.APIError, None),
    ]:
        with Mock(f"POST /v1/payment_intents = {step}") as mock:
            client = mock.stripe(max_network_retries=0)
            error = raises(kind, lambda: client.v1.payment_intents.create(params=PAYMENT))
            # The library drops the code of a 429, and keeps its body.
            equal((error.json_body["error"].get("code"), error.request_id), (code, "req_mock_0_1"))


@check
def stripe_obeys_should_retry():
    # A 500 of a keyed request is kept and would come again; a lock that timed out asks for another attempt.
    for step, expected in [("500, 200", [500]), ("429 code=lock_timeout, 200", [429, 200]), ("429, 200", [429])]:
        with Mock(f"POST /v1/payment_intents = {step}") as mock:
            client = mock.stripe(max_network_retries=2)
            try:
                client.v1.payment_intents.create(params=PAYMENT)
            except stripe.StripeError:
                pass
            equal([attempt["status"] for attempt in mock.attempts()], expected)


def main():
    failed = []
    for function in CHECKS:
        try:
            function()
        except Exception:
            failed.append(function.__name__)
            print(f"FAILED {function.__name__}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok {function.__name__}")
    versions = ", ".join(
        f"{library.__name__} {version}"
        for library, version in [
            (openai, openai.VERSION),
            (anthropic, anthropic.__version__),
            (genai, genai.__version__),
            (stripe, stripe.VERSION),
        ]
    )
    print(f"{len(CHECKS) - len(failed)} of {len(CHECKS)} checks passed: {versions}")
    sys.exit(1 if failed else 0)


main()
