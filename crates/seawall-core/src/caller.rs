//! What a caller's own headers say about one call (rules F4, G3, E1).
//!
//! What can go wrong: a caller gives up after ten seconds and the call goes on for minutes; a retry made elsewhere
//! is taken for a new call and retried again, so that layers multiply. So the nearest of all limits holds, and a
//! call that says which attempt it is counts as one. Values that cannot be read are as absent: a caller's junk must
//! not make its call fail. Whether a caller is to be believed at all is the driver's to decide.

use crate::facts::{Headers, Replay};
use crate::profile::KEY_HEADER;
use crate::time::Duration;

/// What the caller of one call said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerWord {
    /// How long the caller waits at the most: the nearest of its limits.
    pub deadline: Option<Duration>,
    /// Which attempt of its own this is, from 1: above 1, it is itself a retry.
    pub nth: u32,
    /// Fewer retries than the policy's.
    pub retries_max: Option<u32>,
    /// Its promise about repeats.
    pub replay: Option<Replay>,
    /// Whether it sends an idempotency key.
    pub key: bool,
}

impl CallerWord {
    /// Reads a request's headers; what is not there or cannot be read is not said.
    ///
    /// ```
    /// use seawall_core::{caller::CallerWord, time::Duration};
    /// let headers: &[(&str, &[u8])] = &[("x-seawall-deadline", b"20s"), ("x-stainless-timeout", b"600")];
    /// assert_eq!(CallerWord::read(&headers).deadline, Some(Duration::from_secs(20)));
    /// ```
    pub fn read(headers: &dyn Headers) -> Self {
        let text = |name| {
            headers
                .get(name)
                .and_then(|bytes| core::str::from_utf8(bytes).ok())
                .map(str::trim)
        };
        let number = |name| text(name).and_then(|text: &str| text.parse::<u32>().ok());
        let seconds = |name| text(name).and_then(|text| Duration::parse_decimal(text, 1_000_000_000));
        let deadline = [
            text("x-seawall-deadline").and_then(Duration::parse_units),
            seconds("x-stainless-read-timeout"),
            seconds("x-stainless-timeout"),
            text("grpc-timeout").and_then(grpc_timeout),
        ]
        .into_iter()
        .flatten()
        .filter(|length| !length.is_zero())
        .min();
        let repeats = number("x-stainless-retry-count").map_or(1, |count| count.saturating_add(1));
        Self {
            deadline,
            nth: repeats.max(number("x-seawall-attempt").unwrap_or(1)).max(1),
            retries_max: number("x-seawall-retries"),
            replay: text("x-seawall-replay").and_then(Replay::named),
            key: headers
                .get(KEY_HEADER)
                .is_some_and(|key| !key.trim_ascii().is_empty()),
        }
    }
}

/// One to eight digits and a unit (gRPC over HTTP/2).
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || digits.contains('.') {
        return None;
    }
    let unit_nanos = match unit {
        "H" => 3_600_000_000_000,
        "M" => 60_000_000_000,
        "S" => 1_000_000_000,
        "m" => 1_000_000,
        "u" => 1_000,
        "n" => 1,
        _ => return None,
    };
    Duration::parse_decimal(digits, unit_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_limit_holds_and_junk_is_not_said() {
        // A limit that is missed leaves work running for a caller who is gone; junk read as 0 kills every call.
        let read = |rows: &[(&str, &[u8])]| CallerWord::read(&rows);
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(
            read(&[
                ("x-stainless-read-timeout", b"5.0"),
                ("x-stainless-timeout", b"9")
            ])
            .deadline,
            secs(5)
        );
        for (value, expected) in [
            (b"20S".as_slice(), secs(20)),
            (b"1M", secs(60)),
            (b"2H", secs(7_200)),
            (b"3000m", secs(3)),
            (b"123456789S", None),
            (b"S", None),
            (b"", None),
            (b"1.5S", None),
            (b"-1S", None),
            (b"0S", None),
            ("1€".as_bytes(), None),
            (b"\xff", None),
        ] {
            assert_eq!(read(&[("grpc-timeout", value)]).deadline, expected, "{value:?}");
        }
        assert_eq!(read(&[("x-seawall-deadline", b"20")]).deadline, None);
    }

    #[test]
    fn a_retry_made_elsewhere_says_so() {
        // Three layers of three retries each make 27 sends of one call.
        let nth = |rows: &[(&str, &[u8])]| CallerWord::read(&rows).nth;
        assert_eq!(nth(&[]), 1);
        assert_eq!(nth(&[("x-stainless-retry-count", b"0")]), 1);
        assert_eq!(nth(&[("x-stainless-retry-count", b"2")]), 3);
        assert_eq!(
            nth(&[("x-seawall-attempt", b"2"), ("x-stainless-retry-count", b"x")]),
            2
        );
        assert_eq!(nth(&[("x-seawall-attempt", b"0")]), 1);
        assert_eq!(nth(&[("x-stainless-retry-count", b"4294967295")]), u32::MAX);
    }
}
