//! Each provider's words, to the member: what its clients read, and what they look for before they retry.

use super::*;
use proptest::prelude::*;

mod errors;
mod streams;

/// A request as a client sends it.
fn ask<'a>(method: &'a str, target: &'a str, body: &'a str) -> Ask<'a> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Ask {
        method,
        path,
        query,
        credential: Some(b"k"),
        key: Some(b"key-1"),
        body: body.as_bytes(),
        rule: 0,
        number: 7,
    }
}

fn parsed(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&answer.body)))
}

fn good(dialect: Dialect, method: &str, target: &str, body: &str) -> Value {
    let answer = answer(dialect, &ask(method, target, body));
    assert_eq!(
        (answer.status, answer.content_type),
        (200, Some("application/json"))
    );
    parsed(&answer)
}

const CHAT: &str =
    r#"{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"Why?"}]}"#;
const MESSAGES: &str = r#"{"model":"m","max_tokens":9,"system":"be short","messages":[{"role":"user","content":[{"type":"text","text":"Why?"}]}]}"#;
const CONTENTS: &str = r#"{"systemInstruction":{"parts":[{"text":"be short"}]},"contents":[{"role":"user","parts":[{"text":"Why?"}]}]}"#;
const INPUT: &str = r#"{"model":"m","instructions":"be short","input":[{"role":"user","content":[{"type":"input_text","text":"Why?"}]}]}"#;
const GENERATE: &str = "/v1beta/models/m:generateContent";

#[test]
fn each_endpoint_answers_in_the_shape_that_its_clients_read() {
    // Could break: a member under another provider's name is no member to a client, and its test then fails here alone.
    use Dialect::{Anthropic, Gemini, Groq, OpenAi};
    for (dialect, method, target, body, member, expected) in [
        (
            OpenAi,
            "POST",
            "/v1/chat/completions",
            CHAT,
            "/object",
            json!("chat.completion"),
        ),
        (
            OpenAi,
            "POST",
            "/v1/chat/completions",
            CHAT,
            "/choices/0/finish_reason",
            json!("stop"),
        ),
        (
            OpenAi,
            "POST",
            "/v1/completions",
            r#"{"model":"m","prompt":"Why?"}"#,
            "/object",
            json!("text_completion"),
        ),
        (
            OpenAi,
            "POST",
            "/v1/responses",
            INPUT,
            "/output/0/content/0/type",
            json!("output_text"),
        ),
        (
            OpenAi,
            "POST",
            "/v1/responses",
            r#"{"model":"m","input":"Why?"}"#,
            "/status",
            json!("completed"),
        ),
        (OpenAi, "GET", "/v1/responses/resp_1", "", "/id", json!("resp_1")),
        (
            OpenAi,
            "DELETE",
            "/v1/responses/resp_1",
            "",
            "/deleted",
            json!(true),
        ),
        (
            OpenAi,
            "POST",
            "/v1/embeddings",
            r#"{"model":"m","input":["a","b"]}"#,
            "/data/1/index",
            json!(1),
        ),
        (OpenAi, "GET", "/v1/models", "", "/data/0/id", json!("mock:small")),
        (OpenAi, "GET", "/v1/models/m", "", "/id", json!("mock:m")),
        (
            Groq,
            "POST",
            "/openai/v1/chat/completions",
            CHAT,
            "/model",
            json!("mock:m"),
        ),
        (
            Anthropic,
            "POST",
            "/v1/messages",
            MESSAGES,
            "/type",
            json!("message"),
        ),
        (
            Anthropic,
            "POST",
            "/v1/messages",
            MESSAGES,
            "/stop_reason",
            json!("end_turn"),
        ),
        (
            Anthropic,
            "POST",
            "/v1/messages",
            MESSAGES,
            "/content/0/type",
            json!("text"),
        ),
        (
            Anthropic,
            "POST",
            "/v1/messages/count_tokens",
            MESSAGES,
            "/input_tokens",
            json!(3),
        ),
        (Anthropic, "GET", "/v1/models", "", "/data/0/type", json!("model")),
        (
            Anthropic,
            "GET",
            "/v1/models/m",
            "",
            "/display_name",
            json!("mock:m"),
        ),
        (
            Gemini,
            "POST",
            GENERATE,
            CONTENTS,
            "/candidates/0/content/role",
            json!("model"),
        ),
        (
            Gemini,
            "POST",
            GENERATE,
            CONTENTS,
            "/candidates/0/finishReason",
            json!("STOP"),
        ),
        (
            Gemini,
            "POST",
            GENERATE,
            CONTENTS,
            "/modelVersion",
            json!("mock:m"),
        ),
        (
            Gemini,
            "POST",
            "/v1beta/models/m:countTokens",
            CONTENTS,
            "/totalTokens",
            json!(3),
        ),
        (
            Gemini,
            "POST",
            "/v1beta/models/mock:small:countTokens",
            CONTENTS,
            "/model",
            json!("mock:small"),
        ),
        (
            Gemini,
            "GET",
            "/v1beta/models",
            "",
            "/models/0/name",
            json!("models/small"),
        ),
        (
            Gemini,
            "GET",
            "/v1beta/models/m",
            "",
            "/displayName",
            json!("mock:m"),
        ),
        (
            Gemini,
            "POST",
            "/v1beta/openai/chat/completions",
            CHAT,
            "/object",
            json!("chat.completion"),
        ),
    ] {
        let answer = good(dialect, method, target, body);
        assert_eq!(
            answer.pointer(member),
            Some(&expected),
            "{target} {member} in {answer}"
        );
    }
}

#[test]
fn an_answer_for_a_model_names_itself_a_mock() {
    // Could break: an answer of a mock that is taken for a provider's, in a report or a bill.
    use Dialect::{Anthropic, Azure, Gemini, GitHub, Groq, OpenAi, Stripe};
    for (dialect, target, body) in [
        (OpenAi, "/v1/chat/completions", CHAT),
        (OpenAi, "/v1/completions", CHAT),
        (OpenAi, "/v1/responses", INPUT),
        (OpenAi, "/v1/embeddings", "{}"),
        (
            Azure,
            "/openai/deployments/big/chat/completions?api-version=1",
            "{}",
        ),
        (Groq, "/openai/v1/chat/completions", "no json"),
        (Anthropic, "/v1/messages", MESSAGES),
        (Anthropic, "/v1/messages/count_tokens", MESSAGES),
        (Gemini, GENERATE, CONTENTS),
        (Gemini, "/v1beta/models/m:embedContent", "{}"),
        (Stripe, "/v1/payment_intents", "amount=5"),
        (GitHub, "/repos/a/b/issues", "{}"),
        (Dialect::Generic, "/x", "{}"),
    ] {
        let answer = good(dialect, "POST", target, body);
        let model = answer["model"].as_str().unwrap_or("none");
        assert!(
            model.starts_with("mock:") && !model.starts_with("mock:mock:"),
            "{target}: {answer}"
        );
    }
}

#[test]
fn usage_adds_up() {
    // Could break: a total that is not its parts, or a system prompt that is not counted: who bills by one and checks
    // by the other finds a difference that no provider made.
    let chat = &good(Dialect::OpenAi, "POST", "/v1/chat/completions", CHAT)["usage"];
    let response = &good(Dialect::OpenAi, "POST", "/v1/responses", INPUT)["usage"];
    let message = &good(Dialect::Anthropic, "POST", "/v1/messages", MESSAGES)["usage"];
    let content = &good(Dialect::Gemini, "POST", GENERATE, CONTENTS)["usageMetadata"];
    for (usage, prompt, said, total) in [
        (chat, "prompt_tokens", "completion_tokens", Some("total_tokens")),
        (response, "input_tokens", "output_tokens", Some("total_tokens")),
        (message, "input_tokens", "output_tokens", None),
        (
            content,
            "promptTokenCount",
            "candidatesTokenCount",
            Some("totalTokenCount"),
        ),
    ] {
        let count = |name: &str| {
            usage[name]
                .as_u64()
                .unwrap_or_else(|| panic!("{name} in {usage}"))
        };
        // `be short` is two tokens, `Why?` one, and every answer to it the same.
        assert_eq!((count(prompt), count(said)), (3, 10), "{usage}");
        if let Some(total) = total {
            assert_eq!(count(total), count(prompt) + count(said), "{usage}");
        }
    }
}

#[test]
fn the_same_request_is_answered_alike_and_only_its_ids_count_attempts() {
    // Could break: a clock or chance in an answer: two equal runs could no longer be compared byte for byte.
    for (dialect, target, body) in [
        (Dialect::OpenAi, "/v1/chat/completions", CHAT),
        (Dialect::OpenAi, "/v1/responses", INPUT),
        (Dialect::Anthropic, "/v1/messages", MESSAGES),
        (Dialect::Gemini, GENERATE, CONTENTS),
        (Dialect::Stripe, "/v1/charges", "amount=5"),
    ] {
        let first = ask("POST", target, body);
        let second = Ask { number: 8, ..first };
        let (one, other) = (answer(dialect, &first).body, answer(dialect, &second).body);
        assert_eq!(one, answer(dialect, &first).body, "{target}");
        assert_ne!(one, other, "{target}");
        let (one, other) = (String::from_utf8(one).unwrap(), String::from_utf8(other).unwrap());
        let counted = one
            .replace("mock-0-7", "mock-0-8")
            .replace("mock_0_7", "mock_0_8");
        assert_eq!(counted, other, "{target}");
    }
}

#[test]
fn embeddings_come_in_the_form_that_was_asked_for() {
    // Could break: OpenAI's own libraries ask for base64 unasked, and one of them reads a list as if it were that.
    let request = |format: &str| format!(r#"{{"input":"a","encoding_format":"{format}"}}"#);
    let embedded = |format: &str| {
        let answer = good(Dialect::OpenAi, "POST", "/v1/embeddings", &request(format));
        answer["data"][0]["embedding"].clone()
    };
    let numbers = embedded("float");
    assert_eq!(numbers.as_array().map(Vec::len), Some(8));
    // Eight numbers of four bytes are 43 letters and one sign to fill up.
    let packed = embedded("base64").as_str().map(str::to_owned).unwrap();
    assert!(
        packed.len() == 44 && packed.ends_with('=') && !packed.ends_with("=="),
        "{packed}"
    );
    for (bytes, text) in [
        (&b""[..], ""),
        (b"f", "Zg=="),
        (b"fo", "Zm8="),
        (b"foo", "Zm9v"),
        (b"foobar", "Zm9vYmFy"),
        (&[0xff, 0xfe, 0xfb], "//77"),
    ] {
        assert_eq!(base64(bytes), text);
    }
}

#[test]
fn payments_are_objects_of_what_they_were_made_from() {
    // Could break: an amount that stays text, a form's brackets that are not read, JSON that is taken for a form.
    let form = "amount=500&currency=eur&confirm=true&metadata%5Border%5D=7&automatic_payment_methods[enabled]=true&expand[]=x";
    let payment = good(Dialect::Stripe, "POST", "/v1/payment_intents", form);
    let expected = json!({
        "id": "pi_mock_0_7",
        "object": "payment_intent",
        "amount": 500,
        "amount_received": 500,
        "automatic_payment_methods": { "enabled": true },
        "client_secret": "pi_mock_0_7_secret_mock",
        "confirm": true,
        "created": CREATED_UNIX_SECS,
        "currency": "eur",
        "livemode": false,
        "metadata": { "order": "7" },
        "model": "mock:stripe",
        "status": "succeeded",
    });
    assert_eq!(payment, expected);
    for (method, target, body, member, value) in [
        (
            "POST",
            "/v1/payment_intents",
            r#"{"amount":5}"#,
            "/amount",
            json!(5),
        ),
        (
            "POST",
            "/v1/payment_intents",
            "amount=5",
            "/status",
            json!("requires_payment_method"),
        ),
        (
            "POST",
            "/v1/payment_intents",
            "amount=5",
            "/amount_received",
            json!(0),
        ),
        (
            "POST",
            "/v1/payment_intents/pi_1/confirm",
            "",
            "/status",
            json!("succeeded"),
        ),
        (
            "POST",
            "/v1/payment_intents/pi_1/cancel",
            "",
            "/status",
            json!("canceled"),
        ),
        ("GET", "/v1/payment_intents/pi_1", "", "/id", json!("pi_1")),
        ("GET", "/v1/charges", "", "/object", json!("list")),
        ("POST", "/v1/refunds", "charge=ch_1", "/charge", json!("ch_1")),
        ("POST", "/v1/customers", "name=Mo", "/object", json!("customer")),
        ("DELETE", "/v1/customers/cus_1", "", "/deleted", json!(true)),
        (
            "POST",
            "/v1/checkout/sessions",
            "mode=payment",
            "/id",
            json!("cs_mock_0_7"),
        ),
        ("POST", "/v1/paymentsx", "", "/model", json!("mock:generic")),
        // What a client sends stands not above what the server says.
        (
            "POST",
            "/v1/charges",
            "id=evil&object=x&livemode=true",
            "/id",
            json!("ch_mock_0_7"),
        ),
    ] {
        let answer = good(Dialect::Stripe, method, target, body);
        assert_eq!(
            answer.pointer(member),
            Some(&value),
            "{method} {target} {body}: {answer}"
        );
    }
    let headers = answer(Dialect::Stripe, &ask("POST", "/v1/charges", "")).headers;
    let expected = [("request-id", "req_mock_0_7"), ("idempotency-key", "key-1")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(headers, expected);
}

proptest! {
    #[test]
    fn any_bytes_are_answered_in_every_dialect(
        body in proptest::collection::vec(any::<u8>(), 0..200),
        path in "/[a-z0-9/:._%]{0,40}",
        ends in 0_usize..6,
        method in "(GET|POST|DELETE|PUT)",
    ) {
        // Could break: a slice at no border of a letter, a name that is missing, a division by nothing.
        let ends = ["", "/chat/completions", "/messages", ":streamGenerateContent", "/responses/x", "/v1/charges/x/y"][ends];
        let target = format!("{path}{ends}");
        for dialect in Dialect::NAMED {
            let ask = Ask { body: &body, ..ask(&method, &target, "") };
            let whole = answer(dialect, &ask);
            prop_assert!(whole.status == 200 || dialect == Dialect::Azure);
            prop_assert!(!stream(dialect, &ask, None).whole().is_empty());
            prop_assert_eq!(error(dialect, 503, &ask, Told::NOTHING).status, 503);
        }
    }

    #[test]
    fn forms_and_json_of_any_shape_make_an_object(body in r#"[a-z0-9=&%\[\]{}":,+]{0,80}"#) {
        // Could break: a field in a field that is a text already, JSON that is a list.
        let answer = good(Dialect::Stripe, "POST", "/v1/charges", &body);
        prop_assert_eq!(&answer["object"], "charge");
    }
}
