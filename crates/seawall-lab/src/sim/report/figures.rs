//! Numbers and names as a reader sees them.
//!
//! What can go wrong: a success rate of 99.996 % is shown as 100 %, a quotient of nothing as NaN, a name from a file as
//! markup or, by a mark of direction, as another name. So what is near an end and not at it says so, what is no number
//! is a dash, and names are made harmless here, for every format.

pub(in crate::sim) mod plain;

/// Stands where there is no figure.
pub(super) const NONE: &str = "–";

/// A share: `97.4 %`; never `100.0 %` of less than all, nor `0.0 %` of more than nothing.
pub(in crate::sim) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.005 {
        return "<\u{a0}0.01\u{a0}%".to_owned();
    }
    if percent < 100.0 && percent > 99.995 {
        return ">\u{a0}99.99\u{a0}%".to_owned();
    }
    let digits = match percent {
        p if p <= 0.0 || p >= 100.0 => 0,
        p if !(1.0..=99.0).contains(&p) => 2,
        _ => 1,
    };
    format!("{}\u{a0}%", rounded(percent, digits))
}

/// How often: `×1.05`.
pub(super) fn times(factor: f64) -> String {
    if !factor.is_finite() {
        return NONE.to_owned();
    }
    let digits = if factor < 10.0 { 2 } else { 1 };
    format!("×{}", rounded(factor, digits))
}

/// A length in milliseconds, in the unit that suits it: `142 ms`, `1.85 s`, `2.5 min`.
pub(super) fn length(millis: f64) -> String {
    if !millis.is_finite() {
        return NONE.to_owned();
    }
    let (value, unit) = match millis.abs() {
        m if m < 0.9995 && m > 0.0 => (millis * 1_000.0, "µs"),
        m if m < 999.5 => (millis, "ms"),
        m if m < 120_000.0 => (millis / 1_000.0, "s"),
        m if m < 7_200_000.0 => (millis / 60_000.0, "min"),
        _ => (millis / 3_600_000.0, "h"),
    };
    format!("{}\u{a0}{unit}", three_digits(value))
}

/// So many a second: `4 028/s`.
pub(super) fn rate(per_second: f64) -> String {
    match per_second.is_finite() {
        true => format!("{}/s", number(per_second)),
        false => NONE.to_owned(),
    }
}

/// A number that may be large: three digits below a thousand, whole and in groups above.
pub(super) fn number(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    if value.abs() < 999.5 {
        return three_digits(value);
    }
    grouped(&rounded(value, 0))
}

/// A figure to be held beside another: four digits that count.
pub(super) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let digits = match value.abs() {
        v if v == 0.0 || v >= 999.5 => 0,
        v if v >= 99.95 => 1,
        v if v >= 9.995 => 2,
        v if v >= 0.9995 => 3,
        v if v >= 0.0995 => 4,
        _ => 6,
    };
    let text = rounded(value, digits);
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    grouped(text)
}

/// A count, in groups of three digits.
pub(super) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// Money.
pub(in crate::sim) fn dollars(amount: f64) -> String {
    match amount.is_finite() {
        true if amount > 0.0 && amount < 0.005 => format!("${}", rounded(amount, 6)),
        true => format!("${}", grouped(&rounded(amount, 2))),
        false => NONE.to_owned(),
    }
}

/// With so many digits after the point; never a nothing with a sign, and none that is no number.
pub(super) fn rounded(value: f64, digits: usize) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|byte| matches!(byte, b'0' | b'.')) => rest.to_owned(),
        Some(_) | None => text,
    }
}

fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v == 0.0 || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        v if v >= 0.0995 => 2,
        _ => 4,
    };
    let text = rounded(value, digits);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn grouped(digits: &str) -> String {
    let (whole, rest) = digits
        .split_once('.')
        .map_or((digits, None), |(w, r)| (w, Some(r)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        // Four digits read well without a gap.
        if at > 0 && whole.len() > 4 && (whole.len() - at).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    if let Some(rest) = rest {
        text.push('.');
        text.push_str(rest);
    }
    text
}

/// At most so many letters, the last of which is `…` where some were cut.
pub(super) fn shortened(name: &str, letters_max: usize) -> String {
    let name = harmless(name);
    if name.chars().count() <= letters_max {
        return name;
    }
    let kept: String = name.chars().take(letters_max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Without what a terminal would obey, XML could not hold, or would turn the order of letters round: each such
/// character becomes U+FFFD. Line ends become spaces.
pub fn harmless(text: &str) -> String {
    let made = text.chars().map(|letter| match letter {
        '\n' | '\t' => ' ',
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => '\u{fffd}',
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => '\u{fffd}',
        '\u{61c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        letter => letter,
    });
    made.collect()
}

/// For an element's content and for an attribute, in XML and HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in harmless(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests;
