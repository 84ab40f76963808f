//! The rules that one call can break by itself: each looks at one attempt of a call after the other.
//!
//! What can go wrong: a rule that finds what was right sends people to a sound line of their client, and is switched off;
//! one that says "held" of a history in which it could not have been broken hides that the script never came to the
//! point. So each rule answers one of three things of a call, gives a real clock its slack, and lets pass what a right
//! client may do: one more attempt after a 401 (a token was renewed), after a 409 (a lock may be gone), after a 403 that
//! told a wait (it was a limit).

use super::calls::{CallSeen, Likeness};
use super::growth;
use super::log::{Attempt, Effect, Log, Met, Word};
use super::timeline::{Proof, TimeLine, rounded};
use super::{Finding, Kind, Rule};
use seawall_core::policy::Backoff;
use seawall_core::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// The most findings of one rule: three calls show what thirty would.
const FINDINGS_MAX: usize = 3;
/// One run, as the rules look at it.
#[derive(Clone, Debug)]
pub struct RunSeen<'a> {
    /// What the server saw.
    pub log: &'a Log,
    /// Its attempts, put together into calls.
    pub calls: Vec<CallSeen>,
    /// Whether the client was content in the end.
    pub content: Content,
}

/// Whether a client was content in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Nobody knows.
    #[default]
    Unknown,
    /// It said that all went well: a program that ends with 0.
    Content,
    /// It said that something went wrong.
    Complained,
}

/// What some rules need to know beside the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// More attempts of one call than this are endless.
    pub attempts_max: u32,
    /// What was promised about waits; [`Rule::NoBackoff`] asks for no more growth than that.
    pub promised: Option<Backoff>,
}

/// Looks whether a rule was broken in these runs of one client: at most a few findings, each proved by a call.
pub fn check(rule: Rule, limits: Limits, runs: &[RunSeen<'_>]) -> Vec<Finding> {
    if runs.iter().all(|run| run.log.attempts.is_empty()) {
        return vec![unseen(rule, "no attempt came")];
    }
    let look = match rule {
        Rule::NoBackoff => return growth::no_backoff(limits.promised, runs),
        Rule::NoJitter => return growth::no_jitter(runs),
        Rule::NoSharedCoolDown => no_shared_cool_down,
        Rule::RetryBeforeHint => before_hint,
        Rule::Overlap => overlap,
        Rule::RetryOfRefused => of_refused,
        Rule::RetryWhenToldNotTo => told_not_to,
        Rule::NewKey => new_key,
        Rule::NewBody => new_body,
        Rule::Endless => endless,
        Rule::DuplicateWrite => duplicate_write,
        Rule::RetryAfterCommit => after_commit,
        Rule::CutTakenAsWhole => cut_taken,
    };
    let (mut findings, mut seen, mut broken) = (Vec::new(), false, 0_usize);
    for (number, run) in runs.iter().enumerate() {
        let scene = Scene::of(rule, limits, run);
        for call in &run.calls {
            match look(&scene, call) {
                Look::Unseen => {}
                Look::Held => seen = true,
                Look::Broken {
                    expected,
                    met,
                    notes,
                    places,
                } => {
                    (seen, broken) = (true, broken + 1);
                    if broken <= FINDINGS_MAX {
                        findings.push(Finding {
                            kind: Kind::Broken,
                            run: Some(number + 1),
                            expected,
                            seen: met + put_together(call),
                            proof: Proof::Attempts(TimeLine::of(run.log, &places, &notes)),
                        });
                    }
                }
            }
        }
    }
    if let Some(last) = findings.last_mut().filter(|_| broken > FINDINGS_MAX) {
        last.seen
            .push_str(&format!("; and {} more calls like this", broken - FINDINGS_MAX));
    }
    match seen {
        true => findings,
        false => vec![unseen(rule, needs(rule))],
    }
}

/// One run, and what several calls of it have to do with each other.
struct Scene<'a> {
    limits: Limits,
    log: &'a Log,
    content: Content,
    /// Places of attempts of which nothing tells whether they are one call: as like as two can be, and out at once.
    ambiguous: BTreeSet<usize>,
    /// The places of the attempts at each path.
    by_path: BTreeMap<&'a str, Vec<usize>>,
}

impl<'a> Scene<'a> {
    fn of(rule: Rule, limits: Limits, run: &RunSeen<'a>) -> Self {
        let mut scene = Self {
            limits,
            log: run.log,
            content: run.content,
            ambiguous: BTreeSet::new(),
            by_path: BTreeMap::new(),
        };
        if rule == Rule::Overlap {
            scene.ambiguous = ambiguous(&scene.log.attempts);
        }
        if rule == Rule::NoSharedCoolDown {
            for (place, attempt) in run.log.attempts.iter().enumerate() {
                scene.by_path.entry(&attempt.path).or_default().push(place);
            }
        }
        scene
    }

    /// The attempts of a call with their places.
    fn attempts(&self, call: &'a CallSeen) -> impl Iterator<Item = (usize, &'a Attempt)> {
        let attempts = &self.log.attempts;
        call.places.iter().map(move |place| (*place, &attempts[*place]))
    }

    /// Each attempt of a call with the one before it: their places and themselves.
    fn pairs(
        &self,
        call: &'a CallSeen,
    ) -> impl Iterator<Item = ((usize, &'a Attempt), (usize, &'a Attempt))> {
        self.attempts(call).zip(self.attempts(call).skip(1))
    }
}

/// Attempts without name and key that are as like as two can be, and out at the same time.
fn ambiguous(attempts: &[Attempt]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut out = BTreeMap::new();
    let unnamed = |attempt: &Attempt| attempt.call.is_none() && attempt.key.is_none();
    for (place, attempt) in attempts
        .iter()
        .enumerate()
        .filter(|(_, attempt)| unnamed(attempt))
    {
        let over = attempt.over().unwrap_or(Instant::NEVER);
        let body = attempt.body.map(|body| body.exact);
        let longest = out
            .entry((&attempt.method, &attempt.path, body))
            .or_insert((place, over));
        if longest.0 != place && longest.1 > attempt.at {
            found.extend([longest.0, place]);
        }
        if over >= longest.1 {
            *longest = (place, over);
        }
    }
    found
}

/// Where nothing better than a likeness says that attempts are one call, whoever reads of it should know.
const fn put_together(call: &CallSeen) -> &'static str {
    match call.by {
        Likeness::Named | Likeness::Key | Likeness::Body => "",
        Likeness::Shape => " (one call, by how like their bodies are)",
    }
}

/// What a rule says of one call.
enum Look {
    /// Nothing happened by which it could be broken or kept.
    Unseen,
    Held,
    Broken {
        expected: String,
        met: String,
        notes: Vec<(usize, String)>,
        places: Vec<usize>,
    },
}

impl Look {
    fn broken(
        call: &CallSeen,
        expected: impl Into<String>,
        met: impl Into<String>,
        note: (usize, String),
    ) -> Self {
        Self::Broken {
            expected: expected.into(),
            met: met.into(),
            notes: vec![note],
            places: call.places.clone(),
        }
    }
}

pub(super) fn unseen(rule: Rule, why: impl Into<String>) -> Finding {
    Finding {
        kind: Kind::NotObservable,
        run: None,
        expected: format!("something to judge {rule} by"),
        seen: why.into(),
        proof: Proof::None,
    }
}

/// What would have to happen for a rule to be judged.
const fn needs(rule: Rule) -> &'static str {
    match rule {
        Rule::RetryBeforeHint => "no answer told a hint",
        Rule::Overlap => {
            "attempts with one body were out at once, and nothing tells whether they are one call"
        }
        Rule::RetryOfRefused => "nothing was refused",
        Rule::RetryWhenToldNotTo => "no answer said x-should-retry: false",
        Rule::NewKey => "no write with a key was sent again",
        Rule::NewBody => "no call with a body was sent again",
        Rule::NoBackoff | Rule::NoJitter => "too few waits",
        Rule::Endless => "no attempt came",
        Rule::DuplicateWrite => "nobody kept count of what was done",
        Rule::RetryAfterCommit => "no stream broke after its first content",
        Rule::NoSharedCoolDown => "no throttle told a hint while other calls were to come",
        Rule::CutTakenAsWhole => "no call ended with a cut answer, or the client did not say how it took it",
    }
}

/// When a told wait runs off; `None` where none was told.
fn due(attempt: &Attempt) -> Option<Instant> {
    let hint = attempt.hint.as_ref().filter(|_| attempt.met() != Met::Answered)?;
    Some(attempt.answered.unwrap_or(attempt.at).after(hint.wait))
}

fn before_hint<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let slack = scene.log.timing.early_slack();
    let mut look = Look::Unseen;
    let mut told: Option<(Instant, &Attempt)> = None;
    for (place, attempt) in scene.attempts(call) {
        if let Some((due, teller)) = told
            && attempt.at < due.before(slack)
            // What had left before the answer came could not know.
            && attempt.at >= teller.answered.unwrap_or(teller.at)
        {
            let hint = teller
                .hint
                .as_ref()
                .expect("only an attempt with a hint tells when one is due");
            let since = attempt.at.since(teller.answered.unwrap_or(teller.at));
            let early = rounded(due.since(attempt.at));
            return Look::broken(
                call,
                format!(
                    "no attempt within {} of an answer that said {}: {}",
                    hint.wait, hint.source, hint.text
                ),
                format!("the next one came after {}", rounded(since)),
                (place, format!("{early} too early")),
            );
        }
        if let Some(due) = due(attempt) {
            look = Look::Held;
            if told.is_none_or(|(before, _)| before < due) {
                told = Some((due, attempt));
            }
        }
    }
    look
}

fn overlap<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let slack = scene.log.timing.early_slack();
    let mut out_until: Option<(usize, Option<Instant>)> = None;
    for (place, attempt) in scene.attempts(call) {
        if let Some((other, over)) = out_until
            && over.is_none_or(|over| attempt.at.after(slack) < over)
        {
            let still = over.map_or_else(String::new, |over| {
                format!(" for {}", rounded(over.since(attempt.at)))
            });
            return Look::broken(
                call,
                "one attempt of a call at a time",
                format!(
                    "attempt #{} came while #{} was still out{still}",
                    place + 1,
                    other + 1
                ),
                (place, format!("#{} is still out", other + 1)),
            );
        }
        let longer = match (out_until, attempt.over()) {
            (Some((_, Some(before))), Some(over)) => over > before,
            (Some((_, None)), _) => false,
            (None, _) | (Some(_), None) => true,
        };
        if longer {
            out_until = Some((place, attempt.over()));
        }
    }
    match call.places.len() == 1 && scene.ambiguous.contains(&call.places[0]) {
        true => Look::Unseen,
        false => Look::Held,
    }
}

fn of_refused<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let mut denied = 0;
    let refused = |attempt: &Attempt| attempt.met() == Met::Refused && attempt.word != Word::Again;
    for ((_, before), (place, _)) in scene.pairs(call).filter(|((_, before), _)| refused(before)) {
        let status = before.status.unwrap_or_default();
        denied += u32::from(status == 401);
        // A client may renew its token, and try that once.
        if status == 401 && denied == 1 {
            continue;
        }
        return Look::broken(
            call,
            format!("no attempt after a {status}: the same again is answered the same"),
            format!("attempt #{} sent it again", place + 1),
            (place, format!("again after a {status}")),
        );
    }
    match call.of(&scene.log.attempts).any(refused) {
        true => Look::Held,
        false => Look::Unseen,
    }
}

fn told_not_to<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let told = |attempt: &Attempt| attempt.word == Word::NotAgain;
    if let Some((_, (place, _))) = scene.pairs(call).find(|((_, before), _)| told(before)) {
        return Look::broken(
            call,
            "no attempt after x-should-retry: false",
            format!("attempt #{} sent it again", place + 1),
            (place, "was told not to".to_owned()),
        );
    }
    match call.of(&scene.log.attempts).any(told) {
        true => Look::Held,
        false => Look::Unseen,
    }
}

fn new_key<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let mut attempts = call.of(&scene.log.attempts);
    let first = attempts.next().expect("a call has its first attempt");
    let keyed = |attempt: &Attempt| attempt.key.is_some();
    if call.places.len() < 2 || !first.writes() || !call.of(&scene.log.attempts).any(keyed) {
        return Look::Unseen;
    }
    let other = scene.pairs(call).find(|(_, (_, next))| next.key != first.key);
    let Some((_, (place, next))) = other else {
        return Look::Held;
    };
    let met = match (&first.key, &next.key) {
        (Some(_), Some(_)) => "came with another",
        (Some(_), None) => "came without one",
        (None, _) => "was the first to have one",
    };
    Look::broken(
        call,
        "one key for all attempts of a write, from the first on",
        format!("attempt #{} {met}", place + 1),
        (place, "another key".to_owned()),
    )
}

fn new_body<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let mut look = Look::Unseen;
    for ((_, before), (place, next)) in scene.pairs(call) {
        match (before.body, next.body) {
            (Some(one), Some(other)) if one.exact == other.exact => look = Look::Held,
            (None, None) => {}
            (Some(_) | None, Some(_) | None) => {
                return Look::broken(
                    call,
                    "the same body at every attempt",
                    format!("attempt #{} has another", place + 1),
                    (place, "another body".to_owned()),
                );
            }
        }
    }
    look
}

fn endless<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let most = usize::try_from(scene.limits.attempts_max).unwrap_or(usize::MAX);
    let Some(place) = call.places.get(most) else {
        return Look::Held;
    };
    let attempts = &scene.log.attempts;
    let took = call.places.last().map(|last| attempts[*last].at);
    let took = took.map_or(Duration::ZERO, |last| last.since(attempts[call.places[0]].at));
    Look::broken(
        call,
        format!("at most {most} attempts of one call"),
        format!("{} in {}", call.places.len(), rounded(took)),
        (*place, format!("the {}th", most + 1)),
    )
}

fn duplicate_write<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let attempts = &scene.log.attempts;
    if call.of(attempts).all(|attempt| attempt.effect == Effect::Unknown) {
        return Look::Unseen;
    }
    let done = call
        .places
        .iter()
        .filter(|place| attempts[**place].effect == Effect::Done);
    match done.clone().nth(1) {
        None => Look::Held,
        Some(second) => Look::broken(
            call,
            "one call is done once",
            format!("it was done {} times", done.count()),
            (*second, "done again".to_owned()),
        ),
    }
}

fn after_commit<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let handed_out = |attempt: &Attempt| {
        attempt.events.is_some_and(|events| events > 0) && matches!(attempt.met(), Met::Broken | Met::Failed)
    };
    if let Some(((_, before), (place, _))) = scene.pairs(call).find(|((_, before), _)| handed_out(before)) {
        let events = before.events.unwrap_or_default();
        return Look::broken(
            call,
            "no attempt after a stream's content was handed out",
            format!("attempt #{} took it again after {events} events", place + 1),
            (place, "after content".to_owned()),
        );
    }
    match call.of(&scene.log.attempts).any(handed_out) {
        true => Look::Held,
        false => Look::Unseen,
    }
}

fn no_shared_cool_down<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let slack = scene.log.timing.early_slack();
    let attempts = &scene.log.attempts;
    let mut look = Look::Unseen;
    for teller in call
        .of(attempts)
        .filter(|attempt| attempt.met() == Met::Throttled)
    {
        let (Some(due), Some(answered)) = (due(teller), teller.answered) else {
            continue;
        };
        let known = answered.after(slack);
        let here = scene
            .by_path
            .get(teller.path.as_str())
            .map_or(&[][..], Vec::as_slice);
        let after = here.partition_point(|place| attempts[*place].at <= known);
        let mut others = here[after..]
            .iter()
            .filter(|place| call.places.binary_search(place).is_err());
        let Some((place, other)) = others.next().map(|place| (*place, &attempts[*place])) else {
            continue;
        };
        look = Look::Held;
        if other.at < due.before(slack) {
            let hint = teller
                .hint
                .as_ref()
                .expect("only an attempt with a hint tells when one is due");
            let mut places = call.places.clone();
            places.push(place);
            places.sort_unstable();
            return Look::Broken {
                expected: format!(
                    "no other call within {} of an answer that said {}: {}",
                    hint.wait, hint.source, hint.text
                ),
                met: format!("another call came after {}", rounded(other.at.since(answered))),
                notes: vec![(place, format!("{} too early", rounded(due.since(other.at))))],
                places,
            };
        }
    }
    look
}

fn cut_taken<'a>(scene: &Scene<'a>, call: &'a CallSeen) -> Look {
    let last = call
        .of(&scene.log.attempts)
        .last()
        .expect("a call has its first attempt");
    let cut = last.met() == Met::Broken && last.status.is_some_and(|status| status < 400);
    let place = call.places.last().copied().unwrap_or_default();
    match (cut, scene.content) {
        (false, _) | (true, Content::Unknown) => Look::Unseen,
        (true, Content::Complained) => Look::Held,
        (true, Content::Content) => Look::broken(
            call,
            "another attempt, or a complaint, after a cut answer",
            "the client ended well with a part of the answer",
            (place, "taken as whole".to_owned()),
        ),
    }
}
