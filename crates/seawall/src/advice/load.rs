//! What a policy means for an upstream: how much it can add to the load, when, and whether the upstream bears it (rules
//! G1 to G8, I1 to I3).

use super::figures::{Bound, Starving};
use super::subject::Subject;
use super::{Advice, Code, Rate, a_second, calls_a_second, counted, decimal, percent};
use seawall_core::policy::{BudgetPolicy, Concurrency, LimitPolicy, Mode, OnEmpty};
use seawall_core::time::Duration;

/// The largest ratio that passes without a word, in thousandths: half as much again.
const RATIO_WIDE_PER_MILLE: u32 = 500;
/// The most of its load that an outage may add in its first second without a warning: as much again (rule G8).
const BURST_LARGE_MILLI: u64 = 2_000;

const RATIO: &str = "policy.budget.ratio";
const FLOOR: &str = "policy.budget.floor";
const WINDOW: &str = "policy.budget.window";

pub(super) fn of(subject: &Subject<'_>) -> Vec<Advice> {
    let mut advice = Vec::new();
    let sends_extras = subject.call().retries() > 0 || subject.call().hedge().is_some();
    match (subject.gate().budget(), sends_extras) {
        (_, false) => advice.push(sent_once(subject)),
        (None, true) => advice.push(no_budget(subject)),
        (Some(budget), true) => bounded(subject, &budget, &mut advice),
    }
    advice.extend(rate_above_limit(subject));
    advice.extend(concurrency(subject));
    advice
}

fn bounded(subject: &Subject<'_>, budget: &BudgetPolicy, advice: &mut Vec<Advice>) {
    let bound = Bound::new(budget, subject.processes);
    let starving = starves(subject, budget, &bound);
    advice.push(load_max(subject, budget, &bound));
    advice.push(first_second(subject, budget, &bound));
    advice.extend(floor_rules(subject, budget, &bound));
    advice.extend(processes(subject, budget, &bound));
    advice.extend(ratio_wide(subject, budget));
    advice.push(headroom(subject, budget, &bound));
    advice.extend(starving);
}

fn sent_once(subject: &Subject<'_>) -> Advice {
    let text = "every call is sent once: the upstream sees no more attempts than there are calls".to_owned();
    subject.advice(Code::LoadMax, &[], text, [("attempts_per_call", 1_u64.into())])
}

fn no_budget(subject: &Subject<'_>) -> Advice {
    let attempts = subject.attempts_max();
    let mut text = format!(
        "nothing bounds retries: in an outage every call is sent up to {attempts} times, just when the upstream can \
         bear it least; a budget with ratio = 0.1 makes that 1.1"
    );
    if let (Some(calls), Some(capacity)) = (subject.calls, subject.capacity) {
        let most = Rate::from_milli(calls.milli().saturating_mul(attempts));
        let stays = if most > capacity {
            "an overload may then keep itself alive"
        } else {
            "it bears that"
        };
        text += &format!(
            " ({} become {most} attempts, it takes {capacity}: {stays})",
            calls_a_second(calls)
        );
    }
    subject.advice(
        Code::NoBudget,
        &["policy.budget", "policy.retries"],
        text,
        [("attempts_per_call", attempts.into())],
    )
}

fn load_max(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Advice {
    let factor = 1_000 + u64::from(budget.ratio_per_mille());
    let floors = bound.floors();
    let (factor, unbounded) = (decimal(factor), subject.attempts_max());
    let mut text = format!("in an outage at most {factor} attempts are sent for each call");
    if floors.milli() > 0 {
        text += &format!(", and {floors} a second more");
    }
    text += &format!(
        " (without the budget it would be {unbounded}); retries that a 429 asked for come on top, at the server's pace"
    );
    let numbers = [
        (
            "attempts_per_call",
            super::Figure::Milli(1_000 + u64::from(budget.ratio_per_mille())),
        ),
        ("floors_per_s", floors.into()),
        ("attempts_per_call_unbounded", unbounded.into()),
    ];
    subject.advice(Code::LoadMax, &[], text, numbers)
}

/// One window's allowance may go at once.
fn first_second(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Advice {
    let most = subject.attempts_max().saturating_mul(1_000);
    let factor = bound.burst_of_ratio_per_mille().saturating_add(1_000).min(most);
    let floors = bound.burst_of_floors_milli() / 1_000;
    let mut text = format!(
        "one window's allowance may go at once: the first second of an outage may see {} times the load",
        decimal(factor)
    );
    if floors > 0 {
        text += &format!(" and {} more", counted(floors, "attempt", "attempts"));
    }
    text += match subject.gate().breaker().map(|breaker| breaker.mode()) {
        Some(Mode::Auto) => ", until the breaker opens",
        Some(Mode::Open | Mode::Closed | Mode::Observe) | None => ", and no breaker ends that",
    };
    let code = if factor > BURST_LARGE_MILLI {
        text += &match window_of_one(budget) {
            Some(window) => format!("; a window of {window} makes that 2 times"),
            None => "; a ratio up to 1 and a window of 1s make that 2 times".to_owned(),
        };
        Code::BurstLarge
    } else {
        Code::FirstSecond
    };
    let numbers = [
        ("load_factor", super::Figure::Milli(factor)),
        ("floors_attempts", floors.into()),
    ];
    subject.advice(code, &[WINDOW, RATIO], text, numbers)
}

/// The window in which the ratio allows one extra for each call of a second; none where that is shorter than may be.
fn window_of_one(budget: &BudgetPolicy) -> Option<Duration> {
    let millis = 1_000_000_u64.checked_div(budget.ratio_per_mille().into())?;
    Some(Duration::from_millis(millis)).filter(|window| *window >= Duration::from_secs(1))
}

fn floor_rules(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Option<Advice> {
    let floors = bound.floors();
    let below = bound.floor_rules_below().filter(|below| below.milli() > 0)?;
    let share = percent(u64::from(budget.ratio_per_mille()));
    let mut text = format!(
        "below {} the floor of {floors} a second is more than the ratio of {share}",
        calls_a_second(below)
    );
    if let Some(calls) = subject.calls.filter(|calls| *calls < below) {
        let most = bound.attempts_max(calls, subject.attempts_max());
        text += &format!(": {} may become {most} attempts", calls_a_second(calls));
    }
    let numbers = [
        ("calls_per_s", below.into()),
        ("floors_per_s", floors.into()),
        ("ratio", super::Figure::Milli(budget.ratio_per_mille().into())),
    ];
    Some(subject.advice(Code::FloorRules, &[FLOOR, RATIO], text, numbers))
}

fn extras(rate: Rate) -> String {
    a_second(rate, "extra", "extras")
}

/// N processes have N floors.
fn processes(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Option<Advice> {
    let (n, floors) = (subject.processes, bound.floors());
    let floor = Rate::from_milli(budget.floor_milli());
    if floor.milli() == 0 {
        return None;
    }
    let numbers = [
        ("processes", n.into()),
        ("floor_per_s", floor.into()),
        ("floors_per_s", floors.into()),
    ];
    let of_ratio = |calls: Rate| {
        let extras = u128::from(calls.milli()) * u128::from(budget.ratio_per_mille()) / 1_000;
        Rate::from_milli(u64::try_from(extras).unwrap_or(u64::MAX))
    };
    match subject.calls.map(of_ratio) {
        Some(ratio) if n > 1 && floors > ratio => {
            let fair = Rate::from_milli(ratio.milli() / u64::from(n));
            let text = format!(
                "{n} processes have {n} floors: together {}, where the ratio gives {ratio}; floor = {fair} in each makes \
                 that {ratio}",
                extras(floors)
            );
            Some(subject.advice(Code::FloorsAddUp, &[FLOOR], text, numbers))
        }
        Some(_) | None => {
            let text = match n {
                1 => format!(
                    "budgets are per process: each further process may send {} more",
                    extras(floor)
                ),
                n => format!(
                    "budgets are per process: the floors of {n} processes are {} together",
                    extras(floors)
                ),
            };
            Some(subject.advice(Code::PerProcess, &[], text, numbers))
        }
    }
}

fn ratio_wide(subject: &Subject<'_>, budget: &BudgetPolicy) -> Option<Advice> {
    let ratio = budget.ratio_per_mille();
    let (allowed, attempts) = (1_000 + u64::from(ratio), subject.attempts_max() * 1_000);
    let most = allowed.min(attempts);
    (ratio >= RATIO_WIDE_PER_MILLE).then(|| {
        let text = format!(
            "a ratio of {} lets an outage multiply the load by {} for as long as it lasts; 0.1 to 0.2 is what budgets are \
             for",
            decimal(ratio.into()),
            decimal(most)
        );
        subject.advice(Code::RatioWide, &[RATIO], text, [("load_factor", super::Figure::Milli(most))])
    })
}

/// λ(1+β) against a stated capacity.
fn headroom(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Advice {
    let factor = decimal(1_000 + u64::from(budget.ratio_per_mille()));
    let (Some(calls), Some(capacity)) = (subject.calls, subject.capacity) else {
        let floors = match bound.floors() {
            none if none.milli() == 0 => String::new(),
            floors => format!(" plus {floors}"),
        };
        let text = format!(
            "the budget protects only while calls a second times {factor}{floors} are below what the upstream takes; \
             `--rate` and `--capacity` say whether they are"
        );
        let numbers = [(
            "attempts_per_call",
            super::Figure::Milli(1_000 + u64::from(budget.ratio_per_mille())),
        )];
        return subject.advice(Code::Headroom, &[], text, numbers);
    };
    let attempts = bound.attempts_max(calls, subject.attempts_max());
    let borne = bound.calls_borne(capacity);
    let numbers = [
        ("calls_per_s", calls.into()),
        ("attempts_per_s", attempts.into()),
        ("capacity_per_s", capacity.into()),
        ("calls_borne_per_s", borne.into()),
    ];
    if calls >= capacity {
        let text = format!(
            "{} come in and {capacity} is what the upstream takes: no policy serves them all; limit \
             what comes in, or add capacity",
            calls_a_second(calls)
        );
        subject.advice(Code::OverCapacity, &[], text, numbers)
    } else if attempts >= capacity {
        let text = format!(
            "{} may become {attempts} attempts, and the upstream takes {capacity}: an overload that \
             has begun may keep itself alive; send fewer than {}, or lower budget.ratio and \
             budget.floor",
            calls_a_second(calls),
            calls_a_second(borne)
        );
        subject.advice(Code::NoHeadroom, &[RATIO, FLOOR], text, numbers)
    } else {
        let text = format!(
            "{} may become {attempts} attempts, below the {capacity} that the upstream takes: the \
             budget protects it up to {}",
            calls_a_second(calls),
            calls_a_second(borne)
        );
        subject.advice(Code::Headroom, &[], text, numbers)
    }
}

/// A budget that lets nothing through at the rates that small services have.
fn starves(subject: &Subject<'_>, budget: &BudgetPolicy, bound: &Bound) -> Option<Advice> {
    let window = budget.window();
    let one_a_window = Rate::from_milli((1_000_u64 * 1_000).div_ceil(window.as_millis().max(1)));
    let advised = format!("floor = {one_a_window} allows one in each {window}");
    let keys = [FLOOR, RATIO];
    let then = match budget.on_empty() {
        OnEmpty::Stop => "a failure there is final",
        OnEmpty::Wait => "calls there wait for credit",
    };
    match bound.starves_below() {
        Starving::Never => None,
        Starving::Always => {
            let retries = counted(subject.call().retries().into(), "retry is", "retries are");
            let text =
                format!("the budget adds up to nothing: {retries} allowed and none is ever sent; {advised}");
            let numbers = [("floor_for_one_per_s", one_a_window.into())];
            Some(subject.advice(Code::BudgetNothing, &keys, text, numbers))
        }
        Starving::BelowMilli(below_milli) => {
            let below = Rate::from_milli(below_milli);
            let of_one = |calls: Rate| Rate::from_milli(calls.milli() / u64::from(subject.processes));
            if subject.calls.map(of_one).is_some_and(|calls| calls >= below) {
                return None;
            }
            let text = format!(
                "below {} in a process, a window of {window} allows no retry at all, and {then}; \
                 {advised}",
                calls_a_second(below)
            );
            let numbers = [
                ("calls_per_s", below.into()),
                ("floor_for_one_per_s", one_a_window.into()),
            ];
            Some(subject.advice(Code::BudgetStarves, &keys, text, numbers))
        }
    }
}

fn rate_above_limit(subject: &Subject<'_>) -> Option<Advice> {
    let limit = subject.gate().limits().rates().requests_per_minute()?;
    let calls = subject.calls?;
    let a_minute = calls.milli().saturating_mul(60) / 1_000;
    (a_minute > limit.saturating_mul(subject.processes.into())).then(|| {
        let per = match subject.processes {
            1 => String::new(),
            n => format!(" in each of {n} processes"),
        };
        let text = format!(
            "{} are {a_minute} a minute, and {limit} may be sent{per}: the others wait for a turn that comes \
             too late",
            calls_a_second(calls)
        );
        let numbers = [
            ("calls_per_minute", a_minute.into()),
            ("limit_per_minute", limit.into()),
        ];
        subject.advice(
            Code::RateAboveLimit,
            &["policy.limits.requests_per_minute"],
            text,
            numbers,
        )
    })
}

fn concurrency(subject: &Subject<'_>) -> Option<Advice> {
    let limits: LimitPolicy = subject.gate().limits();
    let keys = ["policy.limits.concurrency"];
    match limits.concurrency() {
        Concurrency::Unbounded | Concurrency::Gradient => None,
        Concurrency::Auto => {
            let limit = limits.rates().requests_per_minute()?;
            let text = format!(
                "\"auto\" learns from what the upstream throttles, and the limit of {limit} a minute is there to prevent \
                 that: at {} it is the rate that decides",
                a_second(Rate::per_minute(limit), "attempt", "attempts")
            );
            let numbers = [("limit_per_minute", limit.into())];
            Some(subject.advice(Code::AutoBehindRate, &keys, text, numbers))
        }
        Concurrency::AtMost(most) => {
            // Little's law: in flight = calls a second × seconds each.
            let calls = subject.calls?;
            let in_flight = u64::from(most) * u64::from(subject.processes);
            let longest = Duration::from_millis(in_flight.saturating_mul(1_000_000) / calls.milli().max(1));
            let text = format!(
                "{in_flight} in flight at {} is room for answers that take {longest} on average; \
                 slower ones make calls queue",
                calls_a_second(calls)
            );
            let numbers = [("in_flight", in_flight.into()), ("answer_ms", longest.into())];
            Some(subject.advice(Code::ConcurrencyRoom, &keys, text, numbers))
        }
    }
}
