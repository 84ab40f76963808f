use super::*;

const MS: u64 = 1_000_000;

/// The mean and the deviation of so many draws of one purpose, in milliseconds.
fn moments(length: Length, draws: u64) -> (f64, f64) {
    let luck = Luck::new(11);
    let (mut sum, mut squares) = (0.0, 0.0);
    for nth in 0..draws {
        let ms = nanos(length.draw(&mut luck.of(Purpose::Service, 3, nth))) / 1e6;
        sum += ms;
        squares += ms * ms;
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let n = draws as f64;
    (sum / n, (squares / n - (sum / n) * (sum / n)).sqrt())
}

#[test]
fn lengths_have_the_moments_of_their_distributions() {
    // Could break by a formula with a wrong sign, or by draws of neighbouring names that hang together.
    let ms = Duration::from_millis;
    let rows = [
        (Length::Fixed(ms(5)), 5.0, 0.0),
        (
            Length::Uniform {
                shortest: ms(10),
                longest: ms(30),
            },
            20.0,
            5.773_5,
        ),
        (Length::Exponential { mean: ms(100) }, 100.0, 100.0),
        (
            Length::FoldedNormal {
                mean: ms(10),
                deviation: ms(2),
            },
            10.0,
            2.0,
        ),
        (
            Length::FoldedNormal {
                mean: ms(0),
                deviation: ms(10),
            },
            7.978_8,
            6.028_1,
        ),
        (
            Length::LogNormal {
                p50: ms(100),
                p99: ms(1_000),
            },
            163.2,
            210.5,
        ),
        (
            Length::Bimodal {
                mean: ms(100),
                rare_mean: ms(10_000),
                rare: 0.001,
            },
            109.9,
            466.5,
        ),
    ];
    for (length, mean, deviation) in rows {
        let (m, d) = moments(length, 400_000);
        assert!(
            (m - mean).abs() <= 0.01 * mean,
            "{length:?}: mean {m}, expected {mean}"
        );
        assert!(
            (d - deviation).abs() <= 0.03 * deviation.max(0.1),
            "{length:?}: deviation {d}, expected {deviation}"
        );
        let told = nanos(length.mean()) / 1e6;
        assert!(
            (told - mean).abs() <= 0.002 * mean,
            "{length:?}: says a mean of {told}"
        );
    }
    assert!(moments(Length::Fixed(Duration::from_nanos(MS)), 10).0 > 0.0);
}

#[test]
fn names_that_differ_in_one_place_draw_apart() {
    // Could break by names that are added up: then the second call of one client has the luck of the first of the next.
    let luck = Luck::new(1);
    let mut seen = std::collections::BTreeSet::new();
    for who in 0..40 {
        for nth in 0..40 {
            for attempt in 1..4 {
                seen.insert(luck.of_attempt(Purpose::Failure, who, nth, attempt).bits());
                seen.insert(luck.of_attempt(Purpose::Service, who, nth, attempt).bits());
            }
        }
    }
    assert_eq!(seen.len(), 40 * 40 * 3 * 2);
    assert_ne!(
        luck.of(Purpose::Failure, 1, 2).bits(),
        Luck::new(2).of(Purpose::Failure, 1, 2).bits()
    );
}

#[test]
fn a_seed_means_the_same_draws_in_every_version() {
    // Could break by a constant or an order that is changed: every published figure would change with it.
    let mut draws = Luck::new(42).of_attempt(Purpose::Service, 7, 9, 2);
    let drawn = [draws.bits(), draws.bits()];
    assert_eq!(drawn, [9_515_731_527_337_173_608, 4_567_780_104_081_656_325]);
    let mut draws = Luck::new(42).of(Purpose::Hop, 1, 1);
    let length = Length::FoldedNormal {
        mean: Duration::from_millis(10),
        deviation: Duration::from_millis(2),
    };
    assert_eq!(length.draw(&mut draws), Duration::from_nanos(9_695_423));
}

#[test]
fn a_chance_comes_to_pass_as_often_as_it_says() {
    // Could break at the ends: never must be never, and always always.
    let luck = Luck::new(5);
    let often = |chance: f64| {
        (0..100_000)
            .filter(|nth| luck.of(Purpose::Failure, 1, *nth).happens(chance))
            .count()
    };
    assert_eq!(often(0.0), 0);
    assert_eq!(often(1.0), 100_000);
    let tenth = often(0.1);
    assert!((9_700..=10_300).contains(&tenth), "{tenth}");
    let thirds: Vec<usize> = (0..3)
        .map(|third| {
            (0..90_000)
                .filter(|nth| luck.of(Purpose::Shard, 2, *nth).below(3) == third)
                .count()
        })
        .collect();
    assert!(
        thirds.iter().all(|third| (29_400..=30_600).contains(third)),
        "{thirds:?}"
    );
}
