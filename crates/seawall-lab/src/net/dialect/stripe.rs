//! Payments after Stripe's fashion: objects that echo what they were made from, errors with type and code, keys.
//!
//! What can go wrong: a payment that is made twice because a client takes an error for one that may be repeated, or
//! the other way round. So the headers that Stripe's own clients obey are here (`stripe-should-retry`: no after a 500
//! of a keyed request, whose answer is kept and would only come again; yes after a lock that timed out), and the key
//! comes back with every answer. What it does not cover: rules between objects (a refund above its charge): a route's
//! `resource` and `idempotency` are what keeps something.

mod form;

use super::text::request_of;
use super::{Answer, Ask, CREATED_UNIX_SECS, ObjectKind, Told, plain};
use crate::plan::limit::go_duration;
use seawall_core::time::Duration;
use serde_json::{Map, Value, json};

/// What is made below which path, and how its ids begin.
const KINDS: [(&str, &str, &str); 11] = [
    ("payment_intents", "payment_intent", "pi"),
    ("setup_intents", "setup_intent", "seti"),
    ("charges", "charge", "ch"),
    ("customers", "customer", "cus"),
    ("refunds", "refund", "re"),
    ("checkout/sessions", "checkout.session", "cs"),
    ("payment_methods", "payment_method", "pm"),
    ("products", "product", "prod"),
    ("prices", "price", "price"),
    ("invoices", "invoice", "in"),
    ("subscriptions", "subscription", "sub"),
];
/// What an error of one status is called.
const ERRORS: [(u16, &str, Option<&str>); 5] = [
    (401, "invalid_request_error", None),
    (402, "card_error", Some("card_declined")),
    (404, "invalid_request_error", Some("resource_missing")),
    (409, "idempotency_error", Some("idempotency_key_in_use")),
    (429, "invalid_request_error", Some("rate_limit")),
];
/// Codes that decide the type, whatever the status.
const KINDS_OF_CODES: [(&str, &str); 7] = [
    ("card_declined", "card_error"),
    ("expired_card", "card_error"),
    ("incorrect_cvc", "card_error"),
    ("processing_error", "card_error"),
    ("insufficient_funds", "card_error"),
    ("idempotency_key_in_use", "idempotency_error"),
    ("lock_timeout", "invalid_request_error"),
];
/// What a mock that keeps keys and objects has to say, in Stripe's words.
const WORDS: [(&str, &str); 3] = [
    ("key-in-flight", "idempotency_key_in_use"),
    ("key-reused", "idempotency_error"),
    ("resource-missing", "resource_missing"),
];
/// Words that are a type and no code.
const TYPES: [&str; 4] = [
    "api_error",
    "card_error",
    "idempotency_error",
    "invalid_request_error",
];

/// A good answer.
pub(super) fn answer(ask: &Ask<'_>) -> Answer {
    let Some((kind, rest)) = kind_of(ask.path) else {
        return plain::answer(ask);
    };
    let mut rest = rest.split('/').filter(|part| !part.is_empty());
    match (ask.method, rest.next(), rest.next()) {
        ("POST", None, _) => made(ask, kind, None, None),
        ("POST", Some(id), verb) => made(ask, kind, Some(id), verb),
        ("GET", None, _) => {
            let list = json!({ "object": "list", "url": ask.path, "has_more": false, "data": [] });
            Answer::json(200, &list)
        }
        ("GET", Some(id), None) => made(ask, kind, Some(id), None),
        ("DELETE", Some(id), None) => {
            let (_, object, _) = kind;
            Answer::json(200, &json!({ "id": id, "object": object, "deleted": true }))
        }
        _ => plain::answer(ask),
    }
}

/// The kind of object that a path is about.
pub(super) fn object_kind(path: &str) -> Option<ObjectKind<'_>> {
    let ((_, name, prefix), rest) = kind_of(path)?;
    Some(ObjectKind {
        name,
        id_prefix: format!("{prefix}_mock_"),
        base: &path[..path.len() - rest.len()],
    })
}

/// An object as it stands after this request: what it was, with the body's fields and what the verb does.
pub(super) fn object_after(ask: &Ask<'_>, id: &str, before: Map<String, Value>) -> Option<Value> {
    let (kind, rest) = kind_of(ask.path)?;
    let verb = rest.split('/').filter(|part| !part.is_empty()).nth(1);
    Some(Value::Object(object(ask, kind, id, verb, before)))
}

/// An error; a `code` may be one of Stripe's types as well.
pub(super) fn error(status: u16, message: &str, ask: &Ask<'_>, told: Told<'_>) -> Answer {
    let known = ERRORS.iter().find(|(of, _, _)| *of == status);
    let word = told.code.map(|code| {
        let own = WORDS.iter().find(|(word, _)| *word == code);
        own.map_or(code, |(_, stripes)| *stripes)
    });
    let by_code = KINDS_OF_CODES.iter().find(|(code, _)| Some(*code) == word);
    let (kind, code) = match (word, by_code, known) {
        (Some(word), _, _) if TYPES.contains(&word) => (word, None),
        (Some(word), Some((_, kind)), _) => (*kind, Some(word)),
        (Some(word), None, Some((_, kind, _))) => (*kind, Some(word)),
        (None, _, Some((_, kind, code))) => (*kind, *code),
        (word, _, None) if status < 500 => ("invalid_request_error", word),
        (word, _, None) => ("api_error", word),
    };
    let mut message = message.to_owned();
    if let Some(ms) = told.wait_ms {
        message.push_str(&format!(
            ". Please try again in {}.",
            go_duration(Duration::from_millis(ms))
        ));
    }
    let mut error = json!({
        "type": kind,
        "message": message,
        "request_log_url": format!("https://dashboard.example/logs/{}", request_id(ask)),
    });
    if let Some(code) = code {
        error["code"] = json!(code);
    }
    if code == Some("card_declined") {
        error["decline_code"] = json!("generic_decline");
    }
    Answer::json(status, &json!({ "error": error }))
}

/// The headers of every answer.
pub(super) fn headers(status: u16, ask: &Ask<'_>, told: Told<'_>) -> Vec<(&'static str, String)> {
    let mut added = vec![("request-id", request_id(ask))];
    let key = ask.key.and_then(|key| std::str::from_utf8(key).ok());
    if let Some(key) = key {
        added.push(("idempotency-key", key.to_owned()));
    }
    match (status, told.code) {
        (500, _) if key.is_some() => added.push(("stripe-should-retry", "false".to_owned())),
        (_, Some("lock_timeout")) => added.push(("stripe-should-retry", "true".to_owned())),
        _ => {}
    }
    added
}

type Kind = (&'static str, &'static str, &'static str);

/// Which kind of object a path is about, and what follows.
fn kind_of(path: &str) -> Option<(Kind, &str)> {
    let (_, below) = path.split_once("/v1/")?;
    KINDS.into_iter().find_map(|kind| {
        let rest = below.strip_prefix(kind.0)?;
        (rest.is_empty() || rest.starts_with('/')).then_some((kind, rest))
    })
}

fn request_id(ask: &Ask<'_>) -> String {
    format!("req_mock_{}_{}", ask.rule, ask.number)
}

/// The answer of a request that nothing is kept of.
fn made(ask: &Ask<'_>, kind: Kind, id: Option<&str>, verb: Option<&str>) -> Answer {
    let (_, _, prefix) = kind;
    let made = format!("{prefix}_mock_{}_{}", ask.rule, ask.number);
    let object = object(ask, kind, id.unwrap_or(&made), verb, Map::new());
    Answer::json(200, &Value::Object(object))
}

fn object(
    ask: &Ask<'_>,
    kind: Kind,
    id: &str,
    verb: Option<&str>,
    before: Map<String, Value>,
) -> Map<String, Value> {
    let (_, object, _) = kind;
    let mut fields = before;
    fields.extend(typed(self::fields(ask), Place::Top));
    let own = json!({
        "id": id,
        "object": object,
        "created": CREATED_UNIX_SECS,
        "livemode": false,
        "model": "mock:stripe",
    });
    let default = |fields: &mut Map<String, Value>, name: &str, value: Value| {
        fields.entry(name).or_insert(value);
    };
    default(&mut fields, "metadata", json!({}));
    let confirmed = fields.get("confirm") == Some(&Value::Bool(true));
    let is_card_bound = matches!(object, "payment_intent" | "setup_intent" | "charge" | "refund");
    if is_card_bound {
        let done =
            confirmed || matches!(verb, Some("confirm" | "capture")) || matches!(object, "charge" | "refund");
        match (verb, done) {
            (Some("cancel"), _) => drop(fields.insert("status".to_owned(), json!("canceled"))),
            (_, true) => drop(fields.insert("status".to_owned(), json!("succeeded"))),
            (_, false) => default(&mut fields, "status", json!("requires_payment_method")),
        }
    }
    if object == "payment_intent" {
        default(&mut fields, "amount", json!(0));
        default(&mut fields, "currency", json!("usd"));
        let received = match fields.get("status") == Some(&json!("succeeded")) {
            true => fields["amount"].clone(),
            false => json!(0),
        };
        fields.insert("amount_received".to_owned(), received);
        fields.insert("client_secret".to_owned(), json!(format!("{id}_secret_mock")));
    }
    if let Value::Object(own) = own {
        fields.extend(own);
    }
    fields
}

/// The fields of the body: a form, or JSON.
fn fields(ask: &Ask<'_>) -> Map<String, Value> {
    let read = match request_of(ask.body) {
        json @ Value::Object(_) => json,
        _ => form::read(ask.body),
    };
    match read {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// Where a field stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Inside,
}

/// A form has texts alone: what is a number or a truth at Stripe becomes one, and `metadata` stays text.
fn typed(fields: Map<String, Value>, place: Place) -> Map<String, Value> {
    let is_number = |name: &str| name.starts_with("amount") || matches!(name, "unit_amount" | "quantity");
    fields
        .into_iter()
        .filter(|(name, _)| !(place == Place::Top && name == "expand"))
        .map(|(name, value)| {
            let value = match value {
                Value::String(text) if is_number(&name) => match text.parse::<i64>() {
                    Ok(number) => json!(number),
                    Err(_) => Value::String(text),
                },
                Value::String(text) if text == "true" => Value::Bool(true),
                Value::String(text) if text == "false" => Value::Bool(false),
                Value::Object(inside) if name != "metadata" => Value::Object(typed(inside, Place::Inside)),
                other => other,
            };
            (name, value)
        })
        .collect()
}
