//! The work of an attempt that gets to it, in its dialect's words: what it is answered, now and when its key comes
//! again.

use super::dialect::{self, Answer, Ask, Told};
use super::exchange::Request;
use super::score;
use crate::plan::{
    About, Dialect, Effect, Headers, Job, Making, Object, Refusal, Shape, Store, Ticket, Turn, Weigh, Work,
};
use seawall_core::time::Instant;
use std::sync::Arc;

/// Says that an answer was made for an earlier attempt with the same key.
const REPLAYED: &str = "idempotent-replayed";

/// What a mock keeps.
pub(super) type Books = Store<Arc<Kept>>;

/// An answer as it is kept.
#[derive(Debug)]
pub(super) struct Kept {
    answer: Answer,
    /// The attempt's number, which what its dialect says of it hangs on.
    number: u64,
}

impl Weigh for Kept {
    fn bytes(&self) -> usize {
        let headers = self.answer.headers.iter();
        let headers = headers.map(|(name, value)| name.len() + value.len() + 2 * size_of::<String>());
        size_of::<Self>() + self.answer.body.len() + headers.sum::<usize>()
    }
}

/// What the work of an attempt came to.
pub(super) struct Worked {
    /// The answer, unless the script spoils it.
    pub(super) answer: Answer,
    /// The number of the attempt that the answer was made for.
    pub(super) number: u64,
    /// To be handed back when the attempt's delays are over.
    pub(super) ticket: Option<Ticket>,
    /// What it did, for the journal.
    pub(super) word: &'static str,
    /// The id of the object that it did it to.
    pub(super) object: Option<String>,
}

/// Does the work of an attempt, or finds that it was done or must not be.
pub(super) fn work(
    books: &mut Books,
    now: Instant,
    turn: &Turn,
    dialect: Dialect,
    ask: &Ask<'_>,
    request: &Request,
) -> Worked {
    let resource = turn.rule.resource.as_deref().unwrap_or_default();
    let after = |id: &str, before: Option<&Object>| {
        dialect::object_after(ask, id, before.map(Object::to_json).as_deref())
    };
    let known = dialect::object_kind(dialect, ask.path);
    let counted = format!("{resource}_");
    let shape = match &known {
        Some(known) => Shape {
            id_prefix: &known.id_prefix,
            kind: known.name,
            base: Some(known.base),
            making: Making::Dialect(&after),
        },
        None => Shape {
            id_prefix: &counted,
            kind: resource,
            base: None,
            making: Making::Body,
        },
    };
    let headers: Headers<'_> = &|name| request.header(name);
    let job = Job {
        rule: &turn.rule,
        shape,
        method: ask.method,
        path: ask.path,
        query: ask.query,
        headers,
        body: ask.body,
    };
    let number = ask.number;
    let done = books.work(now, &job, |effect| {
        answer_for(turn, dialect, ask, effect)
            .map(|answer| Arc::new(Kept { answer, number }))
            .map_err(|answer| Arc::new(Kept { answer, number }))
    });
    match done {
        Work::Done {
            answer,
            effect,
            ticket,
        } => Worked {
            ticket,
            object: effect.object().map(|object| object.id().to_owned()),
            ..Worked::telling(&answer, effect.name())
        },
        Work::Replayed(kept) => {
            let mut worked = Worked::telling(&kept, "replayed");
            worked
                .answer
                .headers
                .push((REPLAYED.to_owned(), "true".to_owned()));
            worked
        }
        Work::Declined { answer, effect } => Worked::telling(&answer, declined(&effect)),
        Work::Refused(refusal) => {
            let answer = refused(dialect, ask, &refusal);
            Worked::telling(&Kept { answer, number }, refusal.code())
        }
    }
}

impl Worked {
    /// This answer, and a word for the journal.
    fn telling(kept: &Kept, word: &'static str) -> Self {
        Self {
            answer: kept.answer.clone(),
            number: kept.number,
            ticket: None,
            word,
            object: None,
        }
    }
}

/// The word for an effect that was not to be.
const fn declined(effect: &Effect) -> &'static str {
    match effect {
        Effect::Missing | Effect::NotAllowed => effect.name(),
        Effect::Nothing
        | Effect::Created(_)
        | Effect::Read(_)
        | Effect::Listed { .. }
        | Effect::Changed(_)
        | Effect::Removed(_) => "declined",
    }
}

/// The answer to an effect; an error where there is none to be had.
fn answer_for(turn: &Turn, dialect: Dialect, ask: &Ask<'_>, effect: &Effect) -> Result<Answer, Answer> {
    let mut base = dialect::answer(dialect, ask);
    if base.status >= 400 {
        // The dialect refuses what was asked: a server does no work for a caller that it does not let in.
        return Err(base);
    }
    match effect {
        Effect::Missing => {
            let message = format!("there is no `{}` here", ask.path);
            return Err(told(dialect, ask, 404, "resource-missing", &message));
        }
        Effect::NotAllowed => {
            let message = format!("`{}` is nothing to be done with `{}`", ask.method, ask.path);
            return Err(told(dialect, ask, 405, "not-allowed", &message));
        }
        Effect::Nothing
        | Effect::Created(_)
        | Effect::Read(_)
        | Effect::Listed { .. }
        | Effect::Changed(_)
        | Effect::Removed(_) => {}
    }
    if let Some(text) = effect.to_json() {
        base.content_type = Some("application/json");
        base.body = text.into_bytes();
    }
    Ok(score::good_answer(turn, dialect, ask, base))
}

fn refused(dialect: Dialect, ask: &Ask<'_>, refusal: &Refusal) -> Answer {
    let mut answer = told(
        dialect,
        ask,
        refusal.status(),
        refusal.code(),
        &refusal.to_string(),
    );
    match refusal.about() {
        About::Mock => answer.fault = Some(refusal.code().into()),
        About::Key | About::Query => {}
    }
    answer
}

/// An error of the mock's own, in the dialect's shape.
fn told(dialect: Dialect, ask: &Ask<'_>, status: u16, code: &str, message: &str) -> Answer {
    let code = Told {
        code: word(dialect, code),
        ..Told::NOTHING
    };
    dialect::error_saying(dialect, status, message, ask, code)
}

/// Our word for it, or the dialect's own where it has one; `None` leaves it to the status.
fn word(dialect: Dialect, code: &str) -> Option<&str> {
    match (dialect, code) {
        (Dialect::Stripe, "key-reused") => Some("idempotency_error"),
        (Dialect::Stripe, _) => None,
        (
            Dialect::ByPath
            | Dialect::OpenAi
            | Dialect::Anthropic
            | Dialect::Gemini
            | Dialect::Azure
            | Dialect::Groq
            | Dialect::GitHub
            | Dialect::Generic,
            code,
        ) => Some(code),
    }
}
