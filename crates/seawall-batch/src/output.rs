//! One ended row as one line of the output or the error file.
//!
//! What can go wrong: an answer that is parsed and written anew loses digits and key order; a body with line ends
//! tears the file's lines; a 4xx without `error` read as success; an HTML page that breaks the writer. So a JSON body
//! is copied as it stands (without white space where it spans lines), anything else becomes text or base64, failures
//! go to a file of their own, and a 2xx that is no answer carries `error` too.

use crate::caller::{Answer, Ended, Failure, cause};
use crate::input::{Hash, RowState};
use crate::json;
use std::borrow::Cow;
use std::io::Write;

/// How much of a failure's body is kept where it is not JSON: 2 kB, enough for the head of an HTML page.
pub const TEXT_KEPT_BYTES: usize = 2_000;

/// Whether rows carry `"seawall":{…}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extras {
    /// OpenAI's keys alone.
    #[default]
    Off,
    /// Attempts, reason, times and cost beside them.
    On,
}

/// A line, and the file that it belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// [`RowState::Answered`] is the output, [`RowState::Failed`] the error file.
    pub(crate) state: RowState,
    /// With its LF.
    pub(crate) line: Vec<u8>,
}

/// The row's line.
pub(crate) fn render(id: &str, ended: &Ended, extras: Extras) -> Rendered {
    let mut line = Vec::with_capacity(256);
    line.extend_from_slice(b"{\"id\":\"batch_req_");
    line.extend_from_slice(Hash::of(id.as_bytes()).to_string().as_bytes());
    line.extend_from_slice(b"\",\"custom_id\":");
    json::write_string(&mut line, id);
    line.extend_from_slice(b",\"response\":");
    let (state, reason) = match &ended.result {
        Ok(answer) => {
            response(&mut line, answer, &whole_body(&answer.body));
            line.extend_from_slice(b",\"error\":null");
            (RowState::Answered, "succeeded")
        }
        Err(failure) => {
            failed(&mut line, failure);
            (RowState::Failed, failure.reason.code())
        }
    };
    match extras {
        Extras::Off => {}
        Extras::On => extra_keys(&mut line, ended, reason),
    }
    line.extend_from_slice(b"}\n");
    Rendered { state, line }
}

fn failed(line: &mut Vec<u8>, failure: &Failure) {
    let says_failure = match &failure.answer {
        Some(answer) => {
            let body = match failure.cause {
                Some(cause::TRUNCATED) => base64_object(&answer.body),
                Some(_) | None => head_of_body(&answer.body),
            };
            response(line, answer, &body);
            answer.status >= 400
        }
        None => {
            line.extend_from_slice(b"null");
            false
        }
    };
    if says_failure {
        line.extend_from_slice(b",\"error\":null");
        return;
    }
    line.extend_from_slice(b",\"error\":{\"code\":");
    json::write_string(line, failure.reason.code());
    line.extend_from_slice(b",\"cause\":");
    match failure.cause {
        Some(cause) => json::write_string(line, cause),
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(b",\"message\":");
    json::write_string(line, &failure.message);
    line.push(b'}');
}

fn response(line: &mut Vec<u8>, answer: &Answer, body: &str) {
    line.extend_from_slice(format!("{{\"status_code\":{},\"request_id\":", answer.status).as_bytes());
    match &answer.request_id {
        Some(request_id) => json::write_string(line, request_id),
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(b",\"body\":");
    line.extend_from_slice(body.as_bytes());
    line.push(b'}');
}

/// An answer's body as JSON, nothing left out: it was paid for.
fn whole_body(body: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(body) {
        Ok("") => Cow::Borrowed("null"),
        Ok(text) => as_json(text).unwrap_or_else(|| Cow::Owned(string(text))),
        Err(_) => Cow::Owned(base64_object(body)),
    }
}

/// A failure's body as JSON, cut where it is not JSON itself.
fn head_of_body(body: &[u8]) -> String {
    match std::str::from_utf8(body) {
        Ok("") => "null".to_owned(),
        Ok(text) => match as_json(text) {
            Some(json) => json.into_owned(),
            None => string(&text[..text.floor_char_boundary(TEXT_KEPT_BYTES)]),
        },
        Err(_) => base64_object(&body[..body.len().min(TEXT_KEPT_BYTES)]),
    }
}

fn as_json(text: &str) -> Option<Cow<'_, str>> {
    json::validate(text).ok()?;
    Some(if text.contains(['\n', '\r']) {
        Cow::Owned(json::one_line(text))
    } else {
        Cow::Borrowed(text.trim_matches([' ', '\t']))
    })
}

fn string(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    json::write_string(&mut out, text);
    String::from_utf8(out).expect("a JSON string of UTF-8 text is UTF-8 text")
}

fn base64_object(body: &[u8]) -> String {
    format!("{{\"base64\":\"{}\"}}", base64(body))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| usize::from(group.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            if place <= group.len() {
                out.push(char::from(DIGITS[bits >> (18 - 6 * place) & 63]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

fn extra_keys(line: &mut Vec<u8>, ended: &Ended, reason: &str) {
    let first_byte_ms = match ended.first_byte {
        Some(length) => length.as_millis().to_string(),
        None => "null".to_owned(),
    };
    let cost_usd = match ended.cost_microusd {
        Some(microusd) => usd(microusd),
        None => "null".to_owned(),
    };
    write!(
        line,
        ",\"seawall\":{{\"attempts\":{},\"reason\":\"{reason}\",\"first_byte_ms\":{first_byte_ms},\"total_ms\":{},\"cost_usd\":{cost_usd}}}",
        ended.attempts.len(),
        ended.total.as_millis(),
    )
    .expect("writing to memory does not fail");
}

/// Millionths of a dollar as dollars, exactly.
pub(crate) fn usd(microusd: u64) -> String {
    let text = format!("{}.{:06}", microusd / 1_000_000, microusd % 1_000_000);
    let short = text.trim_end_matches('0');
    short.strip_suffix('.').unwrap_or(short).to_owned()
}

#[cfg(test)]
mod tests;
