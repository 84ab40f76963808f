//! What a policy means for one call: how long it keeps its caller, and which of its retries can ever be made (rules
//! B1 to B4, C4, F1 to F3, J1).

use super::figures::{OwnWaits, hung_attempts, own_waits};
use super::subject::{Serves, Subject};
use super::{Advice, Code, counted};
use seawall_core::policy::{HedgeAfter, INFERENCE_FIRST_BYTE, Jitter, LongHint, PolicyBuilder};
use seawall_core::time::{Duration, Instant};
use seawall_core::verdict::Endpoint;

/// The longest deadline that passes without a word: that of the preset `batch`.
const DEADLINE_LONG: Duration = Duration::from_secs(3_600);
/// The shortest deadline for models that passes without a word: that of the preset `interactive`.
const DEADLINE_SHORT: Duration = Duration::from_secs(30);
/// What a model writes a second, for scale.
const TOKENS_PER_SECOND: u64 = 50;
/// Own waits in all that are over before an upstream can have restarted.
const WAITS_SHORT: Duration = Duration::from_secs(1);
/// How many callers a herd is reckoned with.
const HERD: u64 = 1_000;

pub(super) fn of(subject: &Subject<'_>) -> Vec<Advice> {
    let waits = own_waits(subject.call());
    let mut advice = vec![wait_max(subject, waits)];
    advice.extend(deadline_long(subject));
    advice.extend(deadline_short(subject));
    advice.extend(hints(subject));
    advice.extend(hedge_never(subject));
    if subject.call().retries() > 0 {
        advice.extend(herd(subject));
        advice.extend(waits_flat(subject, waits));
        advice.extend(waits_short(subject, waits));
        advice.extend(retries_beyond_deadline(subject, waits));
        advice.extend(attempt_fills_deadline(subject));
    }
    advice
}

fn wait_max(subject: &Subject<'_>, waits: OwnWaits) -> Advice {
    let call = subject.call();
    let general = call.deadline_for(Endpoint::General);
    let longest = subject.deadline_longest();
    let takes = if general == longest {
        format!("a call takes up to {general}")
    } else {
        match subject.serves {
            Serves::Models => format!("a call to a model takes up to {longest}, another up to {general}"),
            Serves::NoModels | Serves::Anything => {
                format!("a call takes up to {general}, at a model's endpoint up to {longest}")
            }
        }
    };
    let own = waits.longest.min(longest);
    let asked = call.hints().max().min(longest);
    let text = match call.retries() {
        0 => format!("{takes}, and is sent once"),
        retries => {
            let hung = hung_attempts(call, Endpoint::General);
            let (its, each) = match retries {
                1 => ("its retry waits".to_owned(), ""),
                retries => (format!("its {retries} retries wait"), " each"),
            };
            let fit = if hung == 1 { "fits" } else { "fit" };
            format!(
                "{takes}: {its} up to {own} by our own guess, or as long as the server asks, up to {asked}{each}; of \
                 attempts that never answer, {hung} of {} {fit}",
                1 + retries_of(subject),
            )
        }
    };
    let numbers = [
        ("deadline_ms", general.into()),
        ("deadline_longest_ms", longest.into()),
        ("own_waits_ms", own.into()),
        ("hint_max_ms", asked.into()),
        ("hung_attempts", hung_attempts(call, Endpoint::General).into()),
        ("attempts", (1 + retries_of(subject)).into()),
    ];
    subject.advice(Code::WaitMax, &[], text, numbers)
}

fn retries_of(subject: &Subject<'_>) -> u64 {
    subject.call().retries().into()
}

fn deadline_long(subject: &Subject<'_>) -> Option<Advice> {
    let deadline = subject.call().deadline();
    (deadline > DEADLINE_LONG).then(|| {
        let text = format!(
            "in an outage a caller, its connection and its memory may be held for {deadline} before it is told \
             anything; a deadline is best what the caller waits"
        );
        let numbers = [("deadline_ms", deadline.into())];
        subject.advice(Code::DeadlineLong, &["policy.deadline"], text, numbers)
    })
}

fn deadline_short(subject: &Subject<'_>) -> Option<Advice> {
    let deadline = subject.call().deadline_for(Endpoint::Inference);
    (subject.serves == Serves::Models && deadline < DEADLINE_SHORT).then(|| {
        let tokens = deadline.times(TOKENS_PER_SECOND).as_secs();
        let text = format!(
            "a model's plain answer comes whole, at its end: at {TOKENS_PER_SECOND} tokens a second, {deadline} are \
             {tokens} tokens, and a longer answer is a timeout that is paid for; give such calls \
             {DEADLINE_SHORT} or more, or stream them"
        );
        let numbers = [("deadline_ms", deadline.into()), ("tokens", tokens.into())];
        subject.advice(Code::DeadlineShort, &["policy.deadline", "policy.preset"], text, numbers)
    })
}

fn hints(subject: &Subject<'_>) -> Option<Advice> {
    let (asked, longest) = (subject.call().hints().max(), subject.deadline_longest());
    let (max, long) = ("policy.hints.max", "policy.hints.long");
    let numbers = [("hint_max_ms", asked.into()), ("deadline_ms", longest.into())];
    match subject.call().hints().long() {
        LongHint::Clamp => {
            let text = format!(
                "a server that asks for more than {asked} is sent to after {asked}, before the time that it named, which \
                 may begin its limit anew; long = \"stop\" ends such calls and tells when to come back"
            );
            Some(subject.advice(Code::HintsClamped, &[long], text, [("hint_max_ms", asked.into())]))
        }
        LongHint::Stop if asked > longest && subject.wrote(max).is_some() => {
            let text = format!(
                "hints.max of {asked} never decides: a call has {longest}, and a server that asks for more than is left \
                 ends it; lower hints.max or give calls more time"
            );
            Some(subject.advice(Code::HintsBeyondDeadline, &[max], text, numbers))
        }
        LongHint::Stop => None,
    }
}

fn hedge_never(subject: &Subject<'_>) -> Option<Advice> {
    let HedgeAfter::Fixed(after) = subject.call().hedge()?.after() else {
        return None;
    };
    let limit = |endpoint: &Endpoint| {
        let deadline = Instant::START.after(subject.call().deadline_for(*endpoint));
        subject
            .call()
            .limits_for(*endpoint, Instant::START, deadline)
            .first_byte
    };
    let longest = subject.endpoints().iter().map(limit).max()?;
    (after >= longest).then(|| {
        let text = format!(
            "no hedge is ever sent: it would start after {after}, and a first attempt without an answer ends after \
             {longest}; hedge.after is best near the time in which 95 of 100 answers begin"
        );
        let numbers = [("after_ms", after.into()), ("first_byte_ms", longest.into())];
        subject.advice(Code::HedgeNever, &["policy.hedge.after"], text, numbers)
    })
}

/// Calls that failed together and come back together.
fn herd(subject: &Subject<'_>) -> Option<Advice> {
    let backoff = subject.call().backoff();
    let keys = ["policy.backoff.jitter"];
    match backoff.jitter() {
        Jitter::None => {
            let first = backoff.ceiling(0);
            let full = PolicyBuilder::from_policy(*subject.policy())
                .jitter(Jitter::Full)
                .build()
                .ok()?;
            let range = full.call.backoff().range(0, Duration::ZERO);
            let spread = range.longest.minus(range.shortest);
            let text = format!(
                "calls that fail together come back together: {HERD} that fail in one moment and are retried are all \
                 sent again {first} later in one moment, and so on; jitter = \"full\" spreads them over {spread}"
            );
            let numbers = [
                ("herd", HERD.into()),
                ("after_ms", first.into()),
                ("spread_ms", spread.into()),
            ];
            Some(subject.advice(Code::NoJitter, &keys, text, numbers))
        }
        Jitter::DecorrelatedAws => {
            // Once a delay is at the cap, the next is drawn from base to three times the cap, and cut.
            let (base, cap) = (
                u128::from(backoff.base().as_nanos()),
                u128::from(backoff.cap().as_nanos()),
            );
            let share = u64::try_from(2 * cap * 1_000 / (3 * cap - base)).unwrap_or(1_000);
            let text = format!(
                "\"decorrelated-aws\" piles up at the cap: once there, {} of 1000 delays are {} to the nanosecond; \
                 \"decorrelated\" or \"full\" draw inside it",
                share,
                backoff.cap()
            );
            let numbers = [
                ("at_cap_per_mille", share.into()),
                ("cap_ms", backoff.cap().into()),
            ];
            Some(subject.advice(Code::JitterPilesUp, &keys, text, numbers))
        }
        Jitter::Full | Jitter::Equal | Jitter::Decorrelated | Jitter::Proportional { .. } => None,
    }
}

fn waits_flat(subject: &Subject<'_>, waits: OwnWaits) -> Option<Advice> {
    let (backoff, retries) = (subject.call().backoff(), subject.call().retries());
    let grows = match backoff.jitter() {
        Jitter::Decorrelated | Jitter::DecorrelatedAws => true,
        Jitter::Full | Jitter::Equal | Jitter::Proportional { .. } | Jitter::None => {
            backoff.factor_tenths() > 10
        }
    };
    if grows || retries < 2 || backoff.base() == backoff.cap() {
        return None;
    }
    let doubling = PolicyBuilder::from_policy(*subject.policy())
        .backoff_factor_tenths(20)
        .build()
        .ok()?;
    let doubled = own_waits(&doubling.call).longest;
    let own = waits.longest;
    let text = format!(
        "waits never grow: all {retries} retries are over after {own} of waiting at the most, and an outage that lasts \
         longer is not outlived; factor = 2 makes that {doubled}"
    );
    let numbers = [
        ("own_waits_ms", own.into()),
        ("own_waits_doubling_ms", doubled.into()),
        ("retries", retries.into()),
    ];
    Some(subject.advice(Code::WaitsFlat, &["policy.backoff.factor"], text, numbers))
}

fn waits_short(subject: &Subject<'_>, waits: OwnWaits) -> Option<Advice> {
    let retries = subject.call().retries();
    let (own, first) = (waits.longest, subject.call().backoff().ceiling(0));
    (retries >= 2 && own < WAITS_SHORT).then(|| {
        let text = format!(
            "all {retries} retries are over within {own} of waiting, and a restart takes seconds; {HERD} calls that fail \
             together and are retried are all sent again within {first}; raise backoff.base"
        );
        let numbers = [
            ("own_waits_ms", own.into()),
            ("base_ms", first.into()),
            ("herd", HERD.into()),
        ];
        let keys = ["policy.backoff.base", "policy.backoff.cap", "policy.backoff.factor"];
        subject.advice(Code::WaitsShort, &keys, text, numbers)
    })
}

fn retries_beyond_deadline(subject: &Subject<'_>, waits: OwnWaits) -> Option<Advice> {
    let (call, deadline) = (subject.call(), subject.deadline_longest());
    let room = deadline.minus(call.timeouts().min_attempt());
    if waits.shortest <= room {
        return None;
    }
    let mut made: u32 = 0;
    let mut waited = Duration::ZERO;
    for retries_made in 0..call.retries() {
        waited = waited.plus(call.backoff().range(retries_made, Duration::ZERO).shortest);
        if waited > room {
            break;
        }
        made += 1;
    }
    let text = format!(
        "of {} only {made} can ever be made: the waits alone take at least {}, and a call has {deadline}",
        counted(call.retries().into(), "retry", "retries"),
        waits.shortest
    );
    let numbers = [
        ("retries", call.retries().into()),
        ("retries_possible", made.into()),
        ("own_waits_shortest_ms", waits.shortest.into()),
        ("deadline_ms", deadline.into()),
    ];
    let keys = [
        "policy.deadline",
        "policy.retries",
        "policy.backoff.base",
        "policy.backoff.jitter",
    ];
    Some(subject.advice(Code::RetriesBeyondDeadline, &keys, text, numbers))
}

fn attempt_fills_deadline(subject: &Subject<'_>) -> Option<Advice> {
    let call = subject.call();
    let key = "policy.timeouts.first_byte";
    subject.wrote(key)?;
    let endpoint = match subject.serves {
        Serves::NoModels | Serves::Anything => Endpoint::General,
        Serves::Models => Endpoint::Inference,
    };
    let deadline = call.deadline_for(endpoint);
    let first_byte = call
        .timeouts()
        .first_byte()
        .unwrap_or(INFERENCE_FIRST_BYTE)
        .min(deadline);
    (hung_attempts(call, endpoint) == 1).then(|| {
        let wait = call.backoff().range(0, Duration::ZERO).shortest;
        let room = deadline.minus(wait).minus(call.timeouts().min_attempt());
        let text = format!(
            "an attempt that gets no answer may take {first_byte} of a call's {deadline}, and then none of {} fits; up \
             to {room}, one does",
            counted(call.retries().into(), "retry", "retries")
        );
        let numbers = [
            ("first_byte_ms", first_byte.into()),
            ("deadline_ms", deadline.into()),
            ("first_byte_for_one_retry_ms", room.into()),
        ];
        subject.advice(Code::AttemptFillsDeadline, &[key], text, numbers)
    })
}
