use super::*;

#[test]
fn a_figure_is_rounded_and_never_to_what_it_is_not() {
    // Could break by rounding: 99.996 % shown as all, 0.004 % as nothing, a thousand ms that is a second.
    type Writes = fn(f64) -> String;
    let table: &[(Writes, f64, &str)] = &[
        (percent, 1.0, "100 %"),
        (percent, 0.0, "0 %"),
        (percent, 0.999_96, "> 99.99 %"),
        (percent, 0.999_94, "99.99 %"),
        (percent, 0.000_04, "< 0.01 %"),
        (percent, 0.002, "0.20 %"),
        (percent, 0.334, "33.4 %"),
        (percent, f64::NAN, "–"),
        (times, 1.0, "×1.00"),
        (times, 243.0, "×243.0"),
        (times, f64::INFINITY, "–"),
        (length, 0.0, "0 ms"),
        (length, 0.25, "250 µs"),
        (length, 142.4, "142 ms"),
        (length, 999.7, "1 s"),
        (length, 1_847.0, "1.85 s"),
        (length, 150_000.0, "2.5 min"),
        (length, 1e10, "2778 h"),
        (length, f64::NAN, "–"),
        (rate, 4_028.3, "4028/s"),
        (rate, 1e6, "1 000 000/s"),
        (number, 0.05, "0.05"),
        (number, -0.000_01, "0"),
        (significant, 0.996_6, "0.9966"),
        (significant, 4_391.5, "4392"),
        (significant, 1.333, "1.333"),
        (significant, 0.0, "0"),
        (dollars, 0.001_23, "$0.001230"),
        (dollars, 12_345.678, "$12 345.68"),
    ];
    for (write, value, expected) in table {
        assert_eq!(write(*value).replace('\u{a0}', " "), *expected, "of {value}");
    }
    assert_eq!(rounded(-0.04, 1), "0.0");
    assert_eq!(rounded(f64::NAN, 1), "0.0");
}

#[test]
fn a_name_is_cut_by_letters_and_made_harmless() {
    // Could break by a cut inside a letter of several bytes, or before the marks are taken out.
    assert_eq!(shortened("größer", 4), "grö…");
    assert_eq!(shortened("größer", 6), "größer");
    assert_eq!(shortened("a\u{1b}b\u{202e}c\nd", 20), "a\u{fffd}b\u{fffd}c d");
    assert_eq!(shortened("x", 0), "…");
    assert_eq!(
        escaped("<a b=\"c\" d='e'>&"),
        "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;"
    );
}
