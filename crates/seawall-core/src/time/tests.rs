use super::*;
use alloc::string::ToString;

#[test]
fn a_printed_duration_reads_back_as_itself() {
    // Could break if a fraction lost its leading zeros or a unit its name.
    for nanos in [
        1,
        17,
        1_000,
        1_500,
        40_000,
        1_000_000,
        250_000_000,
        1_000_000_007,
        1_050_000_000,
    ] {
        let duration = Duration::from_nanos(nanos);
        assert_eq!(duration.to_string().parse(), Ok(duration), "{duration}");
    }
    assert_eq!(Duration::from_secs(5_400).to_string(), "1h30m");
    assert_eq!(Duration::from_secs(65).to_string(), "1m5s");
    assert_eq!(Duration::ZERO.to_string(), "0s");
}

#[test]
fn a_length_without_a_unit_or_with_a_tail_is_no_length() {
    for text in [
        "", "5", "5x", "-5s", "+5s", "5s ", " 5s", "1e3s", "s", "5s5", "nan", ".s",
    ] {
        assert_eq!(Duration::parse_units(text), None, "{text:?}");
    }
}

#[test]
fn what_passes_a_u64_saturates_instead_of_wrapping() {
    // Trap V8b.
    assert_eq!(
        Duration::parse_units("99999999999999999999999h"),
        Some(Duration::MAX)
    );
    assert_eq!(Instant::NEVER.after(Duration::from_secs(1)), Instant::NEVER);
    assert_eq!(Instant::START.since(Instant::NEVER), Duration::ZERO);
    assert_eq!(Duration::from_secs(u64::MAX), Duration::MAX);
}

#[test]
fn a_decimal_rounds_up_so_that_no_wait_is_short() {
    assert_eq!(
        Duration::parse_decimal("0.0000000001", 1_000_000_000),
        Some(Duration::from_nanos(1))
    );
    assert_eq!(
        Duration::parse_decimal("0.493", 1_000_000_000),
        Some(Duration::from_millis(493))
    );
    assert_eq!(
        Duration::parse_units("2m59.56s"),
        Some(Duration::from_millis(179_560))
    );
}
