//! Numbers as lines of a terminal have them: with plain spaces, at which nothing is cut, and which are searched for.

use super::NONE;

/// So many digits that count, without an exponent.
pub(in crate::sim) fn digits(value: f64, count: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let mut places = 0;
    let mut bound = 10.0;
    // Digits before the point; what is below 1 has one.
    let mut before = 1;
    while value.abs() >= bound && before < 300 {
        bound *= 10.0;
        before += 1;
    }
    if before < count {
        places = count - before;
    }
    let text = format!("{value:.places$}");
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// A share.
pub(in crate::sim) fn percent(share: f64) -> String {
    // Not all and not none must not read as all or none.
    if share < 1.0 && share > 0.999_95 {
        return "> 99.99 %".to_owned();
    }
    if share > 0.0 && share < 0.000_05 {
        return "< 0.01 %".to_owned();
    }
    format!("{} %", digits(share * 100.0, 4))
}

/// A length in milliseconds, in the unit that suits it.
pub(in crate::sim) fn length(millis: f64) -> String {
    match millis {
        millis if millis < 0.001 => "0s".to_owned(),
        millis if millis < 1.0 => format!("{}us", digits(millis * 1e3, 3)),
        millis if millis < 1e3 => format!("{}ms", digits(millis, 3)),
        millis => format!("{}s", digits(millis / 1e3, 3)),
    }
}
