//! Dates in headers: the three forms of RFC 9110 5.6.7 and RFC 3339.
//!
//! What can go wrong: a date read in the host's zone, a form that a lenient parser takes for another, a prefix
//! taken for the whole. So every form is matched byte for byte to its end, all HTTP dates are GMT whatever the
//! host's zone is, and what does not match is no date. The name of the weekday must be one, but is not checked
//! against the date: it says nothing that the date does not say, and hand-written servers get it wrong.

use super::scan::Scan;
use crate::time::Wall;

const DAY_MS: i64 = 86_400_000;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Reads a whole string as IMF-fixdate, rfc850-date or asctime-date; `near` settles the century of rfc850's two
/// digits: a date that would be more than fifty years after it lies in the past (RFC 9110 5.6.7).
///
/// ```
/// use seawall_core::{hint::http_date, time::Wall};
/// let now = Wall::from_unix_ms(0);
/// assert_eq!(http_date("Thu, 01 Jan 1970 00:00:04 GMT", now), Some(Wall::from_unix_ms(4_000)));
/// assert_eq!(http_date("Thu, 01 Jan 1970 00:00:04 CET", now), None);
/// ```
pub fn http_date(text: &str, near: Wall) -> Option<Wall> {
    imf_fixdate(text)
        .or_else(|| rfc850(text, near))
        .or_else(|| asctime(text))
}

/// Reads a whole string as an RFC 3339 date and time, with its offset and any fraction of a second, rounded up
/// to the millisecond. A date without a zone is none: it could mean any hour of the day.
pub fn rfc3339(text: &str) -> Option<Wall> {
    let mut scan = Scan(text.as_bytes());
    let year = scan.digits(4)?;
    scan.byte(b'-')?;
    let month = scan.digits(2)?;
    scan.byte(b'-')?;
    let day = scan.digits(2)?;
    scan.one_of(b"Tt ")?;
    let time_ms = scan.clock()?;
    let fraction_ms = scan.fraction_ms()?;
    let offset_ms = scan.offset_ms()?;
    scan.end()?;
    let unix_ms = days_from_civil(year, month, day)? * DAY_MS + time_ms + fraction_ms - offset_ms;
    Some(Wall { unix_ms })
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`
fn imf_fixdate(text: &str) -> Option<Wall> {
    let mut scan = Scan(text.as_bytes());
    WEEKDAYS.iter().find_map(|day| scan.word(&day[..3]))?;
    scan.word(", ")?;
    let day = scan.digits(2)?;
    scan.byte(b' ')?;
    let month = scan.month()?;
    scan.byte(b' ')?;
    let year = scan.digits(4)?;
    scan.byte(b' ')?;
    let time_ms = scan.clock()?;
    scan.word(" GMT")?;
    scan.end()?;
    wall(year, month, day, time_ms)
}

/// `Sunday, 06-Nov-94 08:49:37 GMT`
fn rfc850(text: &str, near: Wall) -> Option<Wall> {
    let mut scan = Scan(text.as_bytes());
    WEEKDAYS.iter().find_map(|day| scan.word(day))?;
    scan.word(", ")?;
    let day = scan.digits(2)?;
    scan.byte(b'-')?;
    let month = scan.month()?;
    scan.byte(b'-')?;
    let year = scan.digits(2)?;
    scan.byte(b' ')?;
    let time_ms = scan.clock()?;
    scan.word(" GMT")?;
    scan.end()?;
    let (near_year, near_month, near_day) = civil_from_days(near.unix_ms.div_euclid(DAY_MS));
    let century = near_year - near_year.rem_euclid(100);
    // The latest year of these two digits whose date is not more than fifty years ahead.
    let edge = (near_year + 50, near_month, near_day);
    [century + 100, century, century - 100]
        .into_iter()
        .map(|century| century + year)
        .find(|full| (*full, month, day) <= edge)
        .and_then(|full| wall(full, month, day, time_ms))
}

/// `Sun Nov  6 08:49:37 1994`
fn asctime(text: &str) -> Option<Wall> {
    let mut scan = Scan(text.as_bytes());
    WEEKDAYS.iter().find_map(|day| scan.word(&day[..3]))?;
    scan.byte(b' ')?;
    let month = scan.month()?;
    scan.byte(b' ')?;
    let day = match scan.byte(b' ') {
        Some(()) => scan.digits(1)?,
        None => scan.digits(2)?,
    };
    scan.byte(b' ')?;
    let time_ms = scan.clock()?;
    scan.byte(b' ')?;
    let year = scan.digits(4)?;
    scan.end()?;
    wall(year, month, day, time_ms)
}

fn wall(year: i64, month: i64, day: i64, time_ms: i64) -> Option<Wall> {
    let unix_ms = days_from_civil(year, month, day)? * DAY_MS + time_ms;
    Some(Wall { unix_ms })
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; `None` where there is no such date.
/// The year is taken to begin in March, so that the leap day comes last
/// (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The year, month and day that lie this many days from 1970-01-01.
pub(crate) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

impl Scan<'_> {
    fn month(&mut self) -> Option<i64> {
        (1..)
            .zip(MONTHS)
            .find_map(|(number, name)| self.word(name).map(|()| number))
    }

    /// `HH:MM:SS` in milliseconds. A leap second (60) counts as the next minute's first.
    fn clock(&mut self) -> Option<i64> {
        let hour = self.digits(2).filter(|hour| *hour <= 23)?;
        self.byte(b':')?;
        let minute = self.digits(2).filter(|minute| *minute <= 59)?;
        self.byte(b':')?;
        let second = self.digits(2).filter(|second| *second <= 60)?;
        Some(((hour * 60 + minute) * 60 + second) * 1_000)
    }

    /// `.` and digits in milliseconds, rounded up so that a wait never ends early; nothing is 0.
    fn fraction_ms(&mut self) -> Option<i64> {
        if self.byte(b'.').is_none() {
            return Some(0);
        }
        let digits = self.run(|byte| byte.is_ascii_digit());
        let (whole, tail) = digits.split_at(digits.len().min(3));
        let mut ms = whole
            .iter()
            .fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
        for _ in whole.len()..3 {
            ms *= 10;
        }
        let up = tail.iter().any(|digit| *digit != b'0');
        (!digits.is_empty()).then_some(ms + i64::from(up))
    }

    /// `Z`, or hours and minutes east of Greenwich, in milliseconds.
    fn offset_ms(&mut self) -> Option<i64> {
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.digits(2).filter(|hours| *hours <= 23)?;
        self.byte(b':')?;
        let minutes = self.digits(2).filter(|minutes| *minutes <= 59)?;
        Some(sign * (hours * 60 + minutes) * 60_000)
    }
}
