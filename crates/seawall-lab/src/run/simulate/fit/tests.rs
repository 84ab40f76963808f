use super::*;
use crate::sim::luck::{Amount, Draws, Luck, Purpose};

/// Calls of a model that takes this much for each token, and beside them what `latency` says.
fn recorded(read_us: u64, written_us: u64, latency: Length, count: u64) -> Vec<Timed> {
    let call = |nth: u64| {
        let mut draws: Draws = Luck::new(1).of(Purpose::Tokens, 0, nth);
        let tokens_in = Amount::LogNormal {
            p50: 1_000,
            p99: 7_000,
        }
        .draw(&mut draws);
        let tokens_out = Amount::Exponential { mean: 200 }.draw(&mut draws) + 1;
        let latency = latency.draw(&mut draws);
        let tokens = read_us * u64::from(tokens_in) + written_us * u64::from(tokens_out);
        Timed {
            tokens_in,
            tokens_out,
            took: latency.plus(Duration::from_micros(tokens)),
        }
    };
    (0..count).map(call).collect()
}

fn near(measured: Duration, expected: Duration, share: f64) {
    let off = (nanos(measured) - nanos(expected)).abs() / nanos(expected);
    assert!(off < share, "{measured}, expected {expected}");
}

#[test]
fn what_calls_were_made_of_is_found_again() {
    // Could break by two kinds of tokens that are taken for each other, or by a rest that is a mean and not a spread.
    let latency = Length::LogNormal {
        p50: Duration::from_millis(400),
        p99: Duration::from_millis(2_000),
    };
    let (found, told) = fit(&recorded(300, 25_000, latency, 20_000)).expect("enough calls");
    near(found.per_token_in, Duration::from_micros(300), 0.03);
    near(found.per_token_out, Duration::from_micros(25_000), 0.01);
    let Length::LogNormal { p50, p99 } = found.latency else {
        panic!("{found:?}");
    };
    near(p50, Duration::from_millis(400), 0.05);
    near(p99, Duration::from_millis(2_000), 0.1);
    assert!(told.starts_with("fitted to 20000 answers: "), "{told}");
    assert!(
        told.ends_with("tokens explain 99 % of how their times differ"),
        "{told}"
    );
}

#[test]
fn no_token_takes_less_than_no_time() {
    // Could break by calls whose long prompts happen to be answered faster: a model would answer before it is asked.
    let calls: Vec<Timed> = (1..=100)
        .map(|nth| Timed {
            tokens_in: nth * 10,
            tokens_out: 5,
            took: Duration::from_millis(10_000 - u64::from(nth) * 50),
        })
        .collect();
    let (found, told) = fit(&calls).expect("enough calls");
    assert_eq!(
        (found.per_token_in, found.per_token_out),
        (Duration::ZERO, Duration::ZERO)
    );
    assert!(told.contains("tokens explain 0 %"), "{told}");
    let Length::LogNormal { p50, .. } = found.latency else {
        panic!("{found:?}");
    };
    near(p50, Duration::from_millis(7_450), 0.01);
    let exact = recorded(200, 1_000, Length::ZERO, 50);
    let (found, _) = fit(&exact).expect("enough calls");
    near(found.per_token_out, Duration::from_millis(1), 0.001);
    let why = fit(&exact[..9]).expect_err("too few");
    assert!(why.starts_with("9 of its calls say how long"), "{why}");
}
