//! A request's body, looked through and not built: of a prompt of megabytes a dozen members are asked for.

use super::{
    MEDIUM_BYTES_MIN, MEDIUM_LOOKED_AT_BYTES, MEDIUM_TOKENS, Media, RequestBody, acts_on_the_world,
    is_medium_start, text_tokens,
};
use crate::json::{self, Path, Text, Value};

/// What was found so far. Of a member that stands there twice the last counts, as for the parser that builds.
#[derive(Default)]
struct Found {
    is_object: bool,
    stream: bool,
    background: bool,
    conversation: bool,
    acting_tool: bool,
    servers: bool,
    limits: [Option<u64>; 3],
    answers: [Option<u64>; 2],
    gemini_limit: Option<u64>,
    gemini_answers: Option<u64>,
    media: Media,
}

/// The members that limit an answer, in the order in which they count.
const LIMITS: [&str; 3] = ["max_completion_tokens", "max_output_tokens", "max_tokens"];
const ANSWERS: [&str; 2] = ["n", "best_of"];
/// The longest name of a tool's kind that is compared.
const KIND_BYTES_MAX: usize = 256;

/// What the body says; nothing where it is not plainly a JSON object.
pub(super) fn read(bytes: &[u8]) -> Option<RequestBody> {
    let mut found = Found::default();
    json::walk(bytes, &mut |path, value, _| found.note(path, value))?;
    if !found.is_object {
        return None;
    }
    let each = found.limits.into_iter().flatten().next();
    let each = each.or(found.gemini_limit).unwrap_or(0);
    let [one, best] = found.answers;
    let answers = one.max(best).or(found.gemini_answers).unwrap_or(1);
    let mut body = RequestBody {
        tokens_in: text_tokens(bytes.len().saturating_sub(found.media.bytes))
            .saturating_add(found.media.count.saturating_mul(MEDIUM_TOKENS)),
        tokens_out_max: each.saturating_mul(answers.max(1)),
        answers,
        ..RequestBody::default()
    };
    body.facts.stream = found.stream;
    body.facts.background = found.background;
    body.facts.conversation = found.conversation;
    body.facts.acting_tool = found.acting_tool || found.servers;
    Some(body)
}

impl Found {
    fn note(&mut self, path: &Path<'_>, value: Value<'_>) {
        if let Value::Text(text) = value
            && is_medium(&text)
        {
            self.media.count += 1;
            self.media.bytes += text.len();
        }
        match path.depth() {
            0 => self.is_object = value == Value::Object,
            1 => self.note_member(path, value),
            2 | 3 => self.note_inner(path, value),
            _ => {}
        }
    }

    fn note_member(&mut self, path: &Path<'_>, value: Value<'_>) {
        let Some(key) = path.last_key() else { return };
        let is_true = value == Value::Bool(true);
        if key.is("stream") {
            self.stream = is_true;
        } else if key.is("background") {
            self.background = is_true;
        } else if key.is("conversation") {
            self.conversation = value != Value::Null;
        } else if key.is("tools") {
            self.acting_tool = false;
        } else if key.is("mcp_servers") {
            self.servers = false;
        } else if key.is("generationConfig") {
            (self.gemini_limit, self.gemini_answers) = (None, None);
        }
        for (place, name) in self.limits.iter_mut().zip(LIMITS) {
            if key.is(name) {
                *place = value.as_u64();
            }
        }
        for (place, name) in self.answers.iter_mut().zip(ANSWERS) {
            if key.is(name) {
                *place = value.as_u64();
            }
        }
    }

    fn note_inner(&mut self, path: &Path<'_>, value: Value<'_>) {
        if path.is(&["mcp_servers", "*"]) {
            self.servers = true;
        } else if path.is(&["generationConfig", "maxOutputTokens"]) {
            self.gemini_limit = value.as_u64();
        } else if path.is(&["generationConfig", "candidateCount"]) {
            self.gemini_answers = value.as_u64();
        } else if path.is(&["tools", "*", "type"])
            && let Value::Text(kind) = value
        {
            let mut room = [0; KIND_BYTES_MAX];
            let kind = std::str::from_utf8(kind.start(&mut room));
            self.acting_tool |= !kind.is_ok_and(|kind| !acts_on_the_world(kind));
        }
    }
}

fn is_medium(text: &Text<'_>) -> bool {
    text.len() > MEDIUM_BYTES_MIN && is_medium_start(text.start(&mut [0; MEDIUM_LOOKED_AT_BYTES]))
}
