//! One line of input into one call: the five row forms.
//!
//! What can go wrong: a body that is rebuilt is another body (prompt caches, signatures and idempotency hashes see
//! it), so values are always slices of the line, and only the plain forms are put together anew, from such slices.
//! An absolute URL would carry the credential to another host; a stream has no one body to write down.

use super::code::{FaultCode, WarningCode};
use crate::json::{self, Invalid, Member};
use std::borrow::Cow;

/// Nesting that is refused: 512 levels, about half of what the common JSON readers of servers take.
pub const DEPTH_MAX: usize = 512;
/// Longest id that the providers' own batches take, in characters.
pub const ID_CHARS_USUAL_MAX: usize = 64;
const CHAT: &str = "/v1/chat/completions";

/// What holds for every row.
#[derive(Clone, Debug)]
pub struct RowRules {
    /// The model of plain rows that name none.
    pub model: Option<String>,
    /// Whether rows may name another host.
    pub absolute_urls: AbsoluteUrls,
}

/// Whether a row may name another host than the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbsoluteUrls {
    /// It is a fault: it would send the credential elsewhere.
    #[default]
    Refuse,
    /// The URL is handed on as it stands.
    Allow,
}

/// A row that can be sent.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) method: Cow<'a, str>,
    pub(crate) path: Cow<'a, str>,
    pub(crate) body: Cow<'a, str>,
    pub(crate) warnings: Vec<WarningCode>,
}

/// What is wrong with a row, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: FaultCode,
    pub(crate) text: String,
}

fn problem<T>(code: FaultCode, text: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        code,
        text: text.into(),
    })
}

/// Reads the bytes of one line, its end and a byte-order mark already taken off. `offset` is the line's first byte
/// in the file, `number` its physical number.
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    offset: u64,
    number: u64,
    rules: &RowRules,
) -> Result<Parsed<'a>, Problem> {
    let text = text_of(bytes, offset)?;
    if let Err(invalid) = json::validate(text) {
        return Err(not_json(text, invalid));
    }
    let object = text.trim_matches([' ', '\t', '\r', '\n']);
    if !object.starts_with('{') {
        return problem(
            FaultCode::NotObject,
            "the line is JSON, but not an object; a row is {\"custom_id\", \"method\", \"url\", \"body\"}",
        );
    }
    let lint = json::lint(object);
    if lint.depth > DEPTH_MAX {
        return problem(
            FaultCode::Depth,
            format!(
                "nested {} levels deep; the most is {DEPTH_MAX}: flatten the body",
                lint.depth
            ),
        );
    }
    let members = json::members(object);
    let mut row = form(object, &members, number, rules)?;
    if lint.lone_surrogate_at.is_some() {
        row.warnings.push(WarningCode::Surrogate);
    }
    if let Some(key) = lint.duplicate_key {
        if has_duplicates(&members) {
            return problem(
                FaultCode::DupKey,
                format!("{key} stands twice in the row; keep one of them"),
            );
        }
        row.warnings.push(WarningCode::DupKeyBody);
    }
    look_into_body(&mut row)?;
    Ok(row)
}

fn text_of(bytes: &[u8], offset: u64) -> Result<&str, Problem> {
    if bytes.contains(&0) {
        return problem(
            FaultCode::Nul,
            if bytes.iter().all(|b| *b == 0) {
                "only NUL bytes: the file's tail is zero-filled (a power loss?); cut it off"
            } else {
                "holds NUL bytes; write the file anew as UTF-8 text"
            },
        );
    }
    std::str::from_utf8(bytes).or_else(|error| {
        let at = error.valid_up_to();
        let byte = bytes.get(at).copied().unwrap_or_default();
        problem(
            FaultCode::Utf8,
            format!(
                "byte {at} of the line (byte {} of the file, 0x{byte:02x}) is not UTF-8; convert the file, for example with iconv -f latin1 -t utf-8",
                offset + at as u64
            ),
        )
    })
}

fn not_json(text: &str, invalid: Invalid) -> Problem {
    match invalid {
        Invalid::Trailing { column } => {
            let hint = if text.trim_end().contains('\r') {
                "; rows seem to be separated by CR and LF in turn: convert the file with tr '\\r' '\\n'"
            } else {
                "; one object a line, without commas between"
            };
            Problem {
                code: FaultCode::Trailing,
                text: format!("something follows the row's value at column {column}{hint}"),
            }
        }
        Invalid::Broken { column, message } => {
            let from = column.saturating_sub(2);
            let near = text.as_bytes().get(from..).unwrap_or_default();
            let starts =
                |word: &[u8]| (0..3).any(|skip| near.get(skip..).is_some_and(|n| n.starts_with(word)));
            let hint = if starts(b"NaN") || starts(b"Infinity") {
                "; JSON has no NaN or Infinity: write the file with Python's json.dumps(..., allow_nan=False) and mend the values that it names"
            } else {
                "; each line must be one whole JSON object (a line torn by a crash, or two writers?)"
            };
            Problem {
                code: FaultCode::Json,
                text: format!("not JSON at column {column}: {message}{hint}"),
            }
        }
    }
}

fn member<'m, 'a>(members: &'m [Member<'a>], key: &str) -> Option<&'m Member<'a>> {
    members.iter().find(|m| m.key == key)
}

fn has_duplicates(members: &[Member<'_>]) -> bool {
    let mut keys: Vec<&str> = members.iter().map(|m| m.key.as_ref()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

fn form<'a>(
    object: &'a str,
    members: &[Member<'a>],
    number: u64,
    rules: &RowRules,
) -> Result<Parsed<'a>, Problem> {
    let has = |key: &str| member(members, key).is_some();
    if has("params") && !has("body") {
        envelope(members, "params", rules)
    } else if has("body") || has("url") || has("method") {
        envelope(members, "body", rules)
    } else if has("messages") || has("prompt") {
        plain(object, members, number, rules)
    } else if has("custom_id") {
        problem(
            FaultCode::Body,
            "the row has a custom_id and no body; add \"body\": {…}",
        )
    } else {
        problem(
            FaultCode::Form,
            "the row has none of the keys body, params, messages and prompt; see the forms in the guide",
        )
    }
}

fn envelope<'a>(members: &[Member<'a>], body_key: &str, rules: &RowRules) -> Result<Parsed<'a>, Problem> {
    let mut warnings = Vec::new();
    let Some(id) = member(members, "custom_id") else {
        return problem(
            FaultCode::NoId,
            "the row has no custom_id; give each row one of its own: it is how answers are matched to rows",
        );
    };
    let id = read_id(id, &mut warnings)?;
    let body = match member(members, body_key) {
        Some(body) if body.value.starts_with('{') => body.value,
        Some(_) => return problem(FaultCode::Body, format!("{body_key} must be a JSON object")),
        None => {
            return problem(
                FaultCode::Body,
                format!("the row has no {body_key}; add \"{body_key}\": {{…}}"),
            );
        }
    };
    let method = match member(members, "method") {
        None => Cow::Borrowed("POST"),
        Some(method) => read_method(method.value)?,
    };
    let path = match (member(members, "url"), body_key) {
        (Some(url), _) => read_url(url.value, rules.absolute_urls)?,
        (None, "params") => Cow::Borrowed("/v1/messages"),
        (None, _) => Cow::Borrowed(usual_path(body)?),
    };
    Ok(Parsed {
        id,
        method,
        path,
        body: Cow::Borrowed(body),
        warnings,
    })
}

fn usual_path(body: &str) -> Result<&'static str, Problem> {
    let keys = json::members(body);
    if member(&keys, "messages").is_some() {
        Ok(CHAT)
    } else if member(&keys, "prompt").is_some() {
        Ok("/v1/completions")
    } else {
        problem(
            FaultCode::Url,
            "the row has no url, and its body no messages that would tell; add \"url\": \"/v1/…\"",
        )
    }
}

fn plain<'a>(
    object: &'a str,
    members: &[Member<'a>],
    number: u64,
    rules: &RowRules,
) -> Result<Parsed<'a>, Problem> {
    let mut warnings = Vec::new();
    let id_member = member(members, "custom_id").or_else(|| member(members, "id"));
    let id = match id_member {
        Some(id) => read_id(id, &mut warnings)?,
        None => Cow::Owned(format!("line-{number}")),
    };
    let messages = member(members, "messages");
    let prompt = member(members, "prompt");
    let given_model = match (member(members, "model"), &rules.model) {
        (Some(_), _) => None,
        (None, Some(model)) => Some(model),
        (None, None) => {
            warnings.push(WarningCode::NoModel);
            None
        }
    };
    let body = match (id_member, messages, given_model) {
        // Nothing to add and nothing to take away: the row is its own body.
        (None, Some(_), None) => Cow::Borrowed(object),
        _ => {
            let mut body = vec![b'{'];
            if let Some(model) = given_model {
                body.extend_from_slice(b"\"model\":");
                json::write_string(&mut body, model);
            }
            for member in members {
                if id_member.is_some_and(|id| id.key == member.key) {
                    continue;
                }
                if body.len() > 1 {
                    body.push(b',');
                }
                if messages.is_none() && member.key == "prompt" {
                    body.extend_from_slice(b"\"messages\":[{\"role\":\"user\",\"content\":");
                    body.extend_from_slice(member.value.as_bytes());
                    body.extend_from_slice(b"}]");
                } else {
                    body.extend_from_slice(member.raw_key.as_bytes());
                    body.push(b':');
                    body.extend_from_slice(member.value.as_bytes());
                }
            }
            body.push(b'}');
            Cow::Owned(String::from_utf8(body).expect("slices of UTF-8 text and ASCII make UTF-8 text"))
        }
    };
    if messages.is_none() && prompt.is_some_and(|p| !p.value.starts_with('"')) {
        return problem(
            FaultCode::Body,
            "prompt must be text; for several messages use \"messages\": […]",
        );
    }
    Ok(Parsed {
        id,
        method: Cow::Borrowed("POST"),
        path: Cow::Borrowed(CHAT),
        body,
        warnings,
    })
}

fn read_id<'a>(id: &Member<'a>, warnings: &mut Vec<WarningCode>) -> Result<Cow<'a, str>, Problem> {
    let key = &id.key;
    let first = id.value.bytes().next().unwrap_or_default();
    let text = match first {
        b'"' => match json::decode(id.value) {
            Some(text) => text,
            None => {
                return problem(
                    FaultCode::IdSurrogate,
                    format!(
                        "{key} holds half of a surrogate pair, which no output file can hold; choose another id"
                    ),
                );
            }
        },
        // The digits, not the number: a float would round them.
        b'-' | b'0'..=b'9' if id.value.bytes().all(|b| b == b'-' || b.is_ascii_digit()) => {
            warnings.push(WarningCode::IdNumber);
            Cow::Borrowed(id.value)
        }
        _ => {
            return problem(
                FaultCode::IdType,
                format!("{key} is {}; it must be text", shorten(id.value)),
            );
        }
    };
    if text.is_empty() {
        return problem(
            FaultCode::IdEmpty,
            format!("{key} is empty; give each row an id of its own"),
        );
    }
    if text.chars().count() > ID_CHARS_USUAL_MAX {
        warnings.push(WarningCode::IdLong);
    }
    Ok(text)
}

fn read_method(raw: &str) -> Result<Cow<'_, str>, Problem> {
    match json::decode(raw) {
        Some(name) if !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase()) => Ok(name),
        Some(_) | None => problem(
            FaultCode::Method,
            format!("method is {}; it must be a name such as \"POST\"", shorten(raw)),
        ),
    }
}

fn read_url(raw: &str, absolute: AbsoluteUrls) -> Result<Cow<'_, str>, Problem> {
    let Some(url) = json::decode(raw).filter(|url| url.bytes().all(|b| b.is_ascii_graphic())) else {
        return problem(
            FaultCode::Url,
            format!(
                "url is {}; it must be a path such as \"{CHAT}\", percent-encoded",
                shorten(raw)
            ),
        );
    };
    // Inside the query an address is only a value.
    let before_query = url.split(['?', '#']).next().unwrap_or_default();
    let absolute_form = !url.starts_with('/') && before_query.contains("://");
    let host_follows = url.starts_with("//") || url.starts_with("/\\");
    if absolute_form || host_follows {
        return match absolute {
            AbsoluteUrls::Allow if absolute_form => Ok(url),
            AbsoluteUrls::Allow | AbsoluteUrls::Refuse => problem(
                FaultCode::UrlAbsolute,
                format!(
                    "url {} names a host, which would get the upstream's credential; give the path alone, or pass --allow-absolute-url",
                    shorten(raw)
                ),
            ),
        };
    }
    if !url.starts_with('/') {
        return problem(
            FaultCode::Url,
            format!(
                "url is {}; a path begins with \"/\", as in \"{CHAT}\"",
                shorten(raw)
            ),
        );
    }
    Ok(url)
}

fn look_into_body(row: &mut Parsed<'_>) -> Result<(), Problem> {
    let body = json::members(&row.body);
    if member(&body, "stream").is_some_and(|m| m.value == "true") {
        return problem(
            FaultCode::Stream,
            "the body asks for a stream; a batch writes whole answers: take \"stream\": true out",
        );
    }
    let takes_messages = row.path.ends_with("/chat/completions") || row.path.ends_with("/messages");
    let generates = takes_messages || row.path.ends_with("/completions");
    if generates && member(&body, "max_tokens").is_none() && member(&body, "max_completion_tokens").is_none()
    {
        row.warnings.push(WarningCode::NoMaxTokens);
    }
    if takes_messages && !usual_messages(&body) {
        row.warnings.push(WarningCode::Shape);
    }
    Ok(())
}

fn usual_messages(body: &[Member<'_>]) -> bool {
    let Some(messages) = member(body, "messages").filter(|m| m.value.starts_with('[')) else {
        return false;
    };
    let messages = json::elements(messages.value);
    !messages.is_empty() && messages.iter().all(|message| usual_message(message))
}

fn usual_message(message: &str) -> bool {
    if !message.starts_with('{') {
        return false;
    }
    let keys = json::members(message);
    let role = member(&keys, "role").and_then(|m| json::decode(m.value));
    let known = ["system", "developer", "user", "assistant", "tool", "function"];
    let has = |key: &str| member(&keys, key).is_some_and(|m| !matches!(m.value, "null" | "[]"));
    role.is_some_and(|role| known.contains(&role.as_ref()))
        && (has("content") || has("tool_calls") || has("function_call") || has("refusal") || has("audio"))
}

fn shorten(raw: &str) -> Cow<'_, str> {
    match raw.char_indices().nth(60) {
        Some((end, _)) => Cow::Owned(format!("{}…", &raw[..end])),
        None => Cow::Borrowed(raw),
    }
}
