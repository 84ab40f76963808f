//! Ups and downs that a monitor wrote down: CSV with the columns `ts`, `service` and `state`.
//!
//! What can go wrong: a service that was down when watching began, or still is when it ended; two monitors that tell the
//! same down twice; rows from the newest on, where each up comes before its down. So a down lasts from the first that says
//! so to the next up, and without end where none comes: nobody said that it was over. Before its first line a service
//! counts as up, since nobody said otherwise; and its rows are in the order of their times, or none is read.

use super::trace::{cells, lines, only_column};
use seawall_core::time::Duration;
use std::collections::BTreeSet;
use std::path::Path;

/// The most lines of a file: what is fed by a pipe without end is no file of events.
const LINES_MAX: usize = 10_000_000;

/// Why a file of events gives no outages.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The file is not there, or not as it should be.
    File(String),
    /// It does not know the service, but these.
    Service { known: BTreeSet<String> },
}

/// When a service was down, counted from the file's first moment, and for how long: in order. The last may have no end.
pub(super) fn read(path: &Path, service: &str) -> Result<Vec<(Duration, Option<Duration>)>, Failure> {
    let shown = path.display();
    let (mut columns, mut known): (Option<[usize; 3]>, BTreeSet<String>) = (None, BTreeSet::new());
    let mut events: Vec<(i128, State)> = Vec::new();
    let mut first: Option<i128> = None;
    lines(path, |number, line| {
        let told = |why: String| format!("{shown}:{number}: {why}");
        if number > LINES_MAX {
            return Err(format!("{shown}: more than {LINES_MAX} lines, which is the most"));
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        let cells = cells(line);
        let Some(places) = columns else {
            let place = |name: &str| {
                let found = only_column(&cells, name).map_err(told)?;
                found.ok_or_else(|| told(format!("the first line names no column `{name}`")))
            };
            columns = Some([place("ts")?, place("service")?, place("state")?]);
            return Ok(());
        };
        let cell = |place: usize| cells.get(places[place]).map_or("", |cell| cell.trim());
        let Some(Moment(at)) = Moment::parse(cell(0)) else {
            return Err(told(format!("`{}` is no time", cell(0))));
        };
        let state = match cell(2) {
            "up" => State::Up,
            "down" => State::Down,
            other => return Err(told(format!("`{other}` is neither up nor down"))),
        };
        first = Some(first.map_or(at, |first| first.min(at)));
        if cell(1) == service {
            if events.last().is_some_and(|(before, _)| at < *before) {
                let (at, service) = (cell(0), crate::error::shown(service));
                return Err(told(format!(
                    "{at} is before the event of {service} above it; sort the rows by `ts`, the oldest first"
                )));
            }
            events.push((at, state));
        } else if !known.contains(cell(1)) {
            known.insert(cell(1).to_owned());
        }
        Ok(())
    })
    .map_err(Failure::File)?;
    let Some(first) = first else {
        return Err(Failure::File(format!("{shown}: no event is in this file")));
    };
    if events.is_empty() {
        return Err(Failure::Service { known });
    }
    Ok(downs(&events)
        .map(|(from, to)| (since(first, from), to.map(|to| since(from, to))))
        .filter(|(_, lasts)| lasts.is_none_or(|lasts| !lasts.is_zero()))
        .collect())
}

/// Whether a service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Down,
}

/// From when to when; `None`: no event brought it up again.
fn downs(events: &[(i128, State)]) -> impl Iterator<Item = (i128, Option<i128>)> {
    let mut downs: Vec<(i128, Option<i128>)> = Vec::new();
    let mut down_since: Option<i128> = None;
    for (at, state) in events {
        match (state, down_since) {
            (State::Down, None) => down_since = Some(*at),
            (State::Up, Some(since)) => {
                downs.push((since, Some(*at)));
                down_since = None;
            }
            (State::Down, Some(_)) | (State::Up, None) => {}
        }
    }
    downs.extend(down_since.map(|since| (since, None)));
    downs.into_iter()
}

fn since(earlier: i128, later: i128) -> Duration {
    Duration::from_nanos(u64::try_from(later - earlier).unwrap_or(u64::MAX))
}

/// A date and time as nanoseconds since 1970, of no zone where none is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(pub(super) i128);

impl Moment {
    /// `2024-10-30T00:32:03Z`, also with a blank for the `T`, a fraction of a second, `+01:00`, or without a zone.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let [year, month, day] = numbers(date, '-')?;
        let (time, zone_seconds) = zone(time)?;
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        let [hour, minute, second] = numbers(clock, ':')?;
        let in_range = (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 61
            && fraction.len() <= 9
            && fraction.bytes().all(|digit| digit.is_ascii_digit());
        if !in_range {
            return None;
        }
        let nanos: i128 = format!("{fraction:0<9}").parse().ok()?;
        let days = i128::from(days_since_1970(year, month, day));
        let seconds =
            days * 86_400 + i128::from(hour * 3_600 + minute * 60 + second) - i128::from(zone_seconds);
        Some(Self(seconds * 1_000_000_000 + nanos))
    }
}

/// So many numbers between these signs.
fn numbers<const N: usize>(text: &str, between: char) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut next = || {
        let part = parts.next()?;
        let digits = !part.is_empty() && part.len() <= 4 && part.bytes().all(|digit| digit.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    };
    let mut all = [0; N];
    for number in &mut all {
        *number = next()?;
    }
    parts.next().is_none().then_some(all)
}

/// The time without its zone, and how many seconds that is ahead of Greenwich.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, zone) = time.split_at(at);
    let [hours, minutes] = numbers(&zone[1..], ':')?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = hours * 3_600 + minutes * 60;
    Some((time, if zone.starts_with('-') { -seconds } else { seconds }))
}

/// How many days a month has.
const fn days_of(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 {
        (year + 1, 1)
    } else {
        (year, month + 1)
    };
    days_since_1970(next_year, next, 1) - days_since_1970(year, month, 1)
}

/// Days of the Gregorian calendar: years begin in March, so that a leap day is a year's last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests;
