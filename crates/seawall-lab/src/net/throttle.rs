//! A limit over HTTP: what an attempt is charged, and the answers that tell of it.
//!
//! What can go wrong: a limit whose numbers stand beside those that a dialect makes up, or beside those that a step states,
//! tells two stories in one head. So where a limit speaks, whatever else the dialect says of limits is taken out; and an
//! answer by which the script itself throttles keeps the script's words alone.

use super::dialect::{self, Answer, Ask, Told, tokens};
use super::exchange::Request;
use crate::plan::limit::{self, Refusal};
use crate::plan::{Dialect, Form, LimitKey, Rule, Standing, Turn};
use crate::script::Deed;
use seawall_core::time::Wall;
use serde_json::Value;

/// The fault of an attempt that a limit refuses.
pub(super) const LIMIT: &str = "limit";
/// The fault of a limit that cannot keep another key apart.
pub(super) const LIMIT_FULL: &str = "limit-full";

/// Members of a request whose texts are prompt, whichever API it is of.
const PROMPTS: [&str; 9] = [
    "messages",
    "input",
    "prompt",
    "system",
    "instructions",
    "contents",
    "content",
    "systemInstruction",
    "system_instruction",
];
/// Members inside those whose texts are read. Others (roles, ids, kinds) cost nothing.
const TEXTS: [&str; 4] = ["content", "text", "parts", "input"];
/// Members that say the most that may be written.
const MOST: [&str; 4] = [
    "max_completion_tokens",
    "max_tokens",
    "max_output_tokens",
    "maxOutputTokens",
];
/// Headers by which a dialect tells of limits.
const OF_LIMITS: [&str; 3] = ["x-ratelimit-", "anthropic-ratelimit-", "ratelimit"];

/// What an attempt is charged of a limit's tokens: its prompt at four characters a token, each text rounded up, and the
/// most that it lets be written, where it says so. A body that is no JSON, or no prompt, is one text.
pub(super) fn tokens_asked(body: &[u8]) -> u64 {
    let Ok(Value::Object(request)) = serde_json::from_slice(body) else {
        return tokens(&String::from_utf8_lossy(body));
    };
    let prompts: Vec<&Value> = PROMPTS.iter().filter_map(|name| request.get(*name)).collect();
    let read = match prompts.is_empty() {
        true => tokens(&String::from_utf8_lossy(body)),
        false => prompts.into_iter().map(tokens_of).fold(0, u64::saturating_add),
    };
    let nested = request
        .get("generationConfig")
        .or_else(|| request.get("generation_config"));
    let most = MOST.iter().find_map(|name| {
        let said = request.get(*name).or_else(|| nested?.get(*name));
        said?.as_u64()
    });
    read.saturating_add(most.unwrap_or(0))
}

fn tokens_of(prompt: &Value) -> u64 {
    match prompt {
        Value::String(text) => tokens(text),
        Value::Array(items) => items.iter().map(tokens_of).fold(0, u64::saturating_add),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| TEXTS.contains(&name.as_str()))
            .map(|(_, member)| tokens_of(member))
            .fold(0, u64::saturating_add),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// In whose words an attempt at a rule is told of limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limited {
    pub(super) dialect: Dialect,
    form: Form,
    /// In whose shape a refusal's body is.
    shape: Dialect,
}

impl Limited {
    /// Of this rule at this path.
    pub(super) fn of(rule: &Rule, path: &str) -> Self {
        let dialect = rule.dialect.at(path);
        let form = rule.limit.as_ref().map_or(Form::ByDialect, |limit| limit.form);
        Self {
            dialect,
            form: form.at(dialect),
            shape: shape(form, dialect),
        }
    }

    /// Whose limit the attempt counts against, and how many tokens it is charged.
    pub(super) fn charge<'r>(rule: &Rule, request: &'r Request, body: &[u8]) -> (&'r [u8], u64) {
        let Some(limit) = &rule.limit else {
            return (&[], 0);
        };
        let key = match &limit.key {
            LimitKey::Route => &[][..],
            LimitKey::Header(name) => request.header(name).unwrap_or_default(),
        };
        let tokens = match limit.tokens_per_minute {
            Some(_) => tokens_asked(body),
            None => 0,
        };
        (key, tokens)
    }

    /// The answer of an attempt that the limit refuses.
    pub(super) fn refused(self, ask: &Ask<'_>, refusal: &Refusal, wall: Wall) -> Answer {
        let status = limit::status(self.form, refusal);
        let message = limit::message(self.form, refusal);
        let of_limit = Told {
            refusal: Some(refusal),
            ..Told::NOTHING
        };
        let mut answer = dialect::error_saying(self.shape, status, &message, ask, of_limit);
        answer.headers = dialect::headers(self.dialect, status, ask, Told::NOTHING);
        let told = limit::refusal_headers(self.form, refusal, wall);
        put(&mut answer.headers, told, &[]);
        answer.fault = Some(LIMIT.into());
        answer
    }

    /// Adds how the limit stands to the answer of an attempt that was let in.
    pub(super) fn tell(self, answer: &mut Answer, turn: &Turn, standing: &Standing, wall: Wall) {
        if answer.status == 429 {
            return;
        }
        let scripted = match turn.action().map(|action| &action.deed) {
            Some(Deed::Status(reply)) => &reply.headers[..],
            _ => &[],
        };
        put(
            &mut answer.headers,
            limit::headers(self.form, standing, wall),
            scripted,
        );
    }
}

/// The answer of an attempt whose key the limit cannot keep apart.
pub(super) fn full() -> Answer {
    let mut answer = dialect::refusal(
        500,
        "this route's limit keeps too many keys apart; reset the mock",
    );
    answer.fault = Some(LIMIT_FULL.into());
    answer
}

/// Puts what a limit tells in the place of what the dialect says of limits; what the script states stands.
fn put(headers: &mut Vec<(String, String)>, told: limit::Told, scripted: &[(String, String)]) {
    let is_scripted = |name: &str| scripted.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    headers.retain(|(name, _)| {
        let lower = name.to_ascii_lowercase();
        let of_limits = OF_LIMITS.iter().any(|of| lower.starts_with(of));
        is_scripted(name) || !(of_limits || told.iter().any(|(name, _)| *name == lower))
    });
    let told = told.into_iter().filter(|(name, _)| !is_scripted(name));
    headers.extend(told.map(|(name, value)| (name.to_owned(), value)));
}

/// In whose shape an error is that is told in this form; where nothing is said, it is the dialect's own.
const fn shape(form: Form, dialect: Dialect) -> Dialect {
    match form {
        Form::ByDialect => dialect,
        Form::OpenAi => Dialect::OpenAi,
        Form::Anthropic => Dialect::Anthropic,
        Form::Azure => Dialect::Azure,
        Form::Gemini => Dialect::Gemini,
        Form::Groq => Dialect::Groq,
        Form::Generic => Dialect::Generic,
    }
}

#[cfg(test)]
mod tests;
