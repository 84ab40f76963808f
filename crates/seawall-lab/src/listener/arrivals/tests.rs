use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use seawall_core::time::Duration;
use std::fmt::Write as _;

fn at(secs: u64) -> Instant {
    Instant::START.after(Duration::from_secs(secs))
}

fn door(door: Door) -> String {
    let (word, until) = match door {
        Door::Open(until) => ("open", until),
        Door::Shut(until) => ("shut", until),
    };
    match until {
        Instant::NEVER => word.to_owned(),
        until => format!("{word} until {}", until.since(Instant::START)),
    }
}

/// Lets a connection come at each of these seconds, where the port lets it.
fn check(script: &str, seconds: &[u64], expect: Expect) {
    let script = ListenerScript::parse(script).unwrap();
    let mut arrivals = Arrivals::new(&script, Instant::START);
    let mut told = format!("0s {}\n", door(arrivals.door(&script, Instant::START)));
    for second in seconds {
        let now = at(*second);
        let met = match arrivals.door(&script, now) {
            Door::Shut(_) => "refused by the system".to_owned(),
            Door::Open(_) => match arrivals.next(&script, now) {
                Arrival::Met(reception) => reception.to_string(),
                Arrival::Plain => "served: before its time".to_owned(),
                Arrival::Stop => "stopped".to_owned(),
            },
        };
        let after = door(arrivals.door(&script, now));
        writeln!(told, "{second}s {met}; then {after}").unwrap();
    }
    expect.assert_eq(&told);
}

// A count that moved at each look at the port, or not at all, would shift every later step.
#[test]
fn counted_steps_are_for_so_many_connections() {
    check(
        "2x refuse, tls-fail, accept",
        &[1, 1, 2, 2, 3],
        expect![[r#"
            0s open
            1s refuse; then open
            1s refuse; then open
            2s tls-fail; then open
            2s accept; then open
            3s accept; then open
        "#]],
    );
    check(
        "reset, 2x hang, stop",
        &[1, 2, 3, 4, 5],
        expect![[r#"
            0s open
            1s reset; then open
            2s hang; then open
            3s hang; then open
            4s stopped; then open
            5s stopped; then open
        "#]],
    );
    check(
        "accept, 2x refuse",
        &[1, 2, 3, 4],
        expect![[r#"
            0s open
            1s accept; then open
            2s refuse; then open
            3s refuse; then open
            4s refuse; then open
        "#]],
    );
}

// Nobody is seen at a closed port: a time that began with the first arrival would never begin, and never end.
#[test]
fn a_refusal_for_a_time_begins_and_ends_without_anybody() {
    check(
        "for 5s refuse, accept",
        &[4, 5],
        expect![[r#"
            0s shut until 5s
            4s refused by the system; then shut until 5s
            5s accept; then open
        "#]],
    );
    check(
        "accept, for 5s refuse, accept",
        &[7, 8, 12],
        expect![[r#"
            0s open
            7s accept; then shut until 12s
            8s refused by the system; then shut until 12s
            12s accept; then open
        "#]],
    );
    check(
        "accept, at 10s refuse, at 20s accept",
        &[9, 10, 20],
        expect![[r#"
            0s open until 10s
            9s accept; then open until 10s
            10s refused by the system; then shut until 20s
            20s accept; then open
        "#]],
    );
    check(
        "accept, refuse",
        &[1, 2, 900],
        expect![[r#"
            0s open
            1s accept; then shut
            2s refused by the system; then shut
            900s refused by the system; then shut
        "#]],
    );
    check(
        "for 2s refuse, stop",
        &[1, 2],
        expect![[r#"
            0s shut until 2s
            1s refused by the system; then shut until 2s
            2s stopped; then open
        "#]],
    );
}

// A step taken before its time, or skipped because nobody came in it, would not be the script that was written.
#[test]
fn a_time_that_has_come_takes_over() {
    check(
        "at 5s reset, at 9s for 2s hang, accept",
        &[1, 6, 10, 11],
        expect![[r#"
            0s open until 5s
            1s served: before its time; then open until 5s
            6s reset; then open until 9s
            10s hang; then open until 11s
            11s accept; then open
        "#]],
    );
    check(
        "3x reset, at 4s accept",
        &[5, 6],
        expect![[r#"
            0s open until 4s
            5s accept; then open
            6s accept; then open
        "#]],
    );
}

fn a_script() -> impl Strategy<Value = ListenerScript> {
    let step = (0_usize..4, 0_u32..3, 0_u64..6, 0_u64..3);
    (prop::collection::vec(step, 1..6), prop::bool::ANY).prop_map(|(steps, stops)| {
        let mut text = String::new();
        let mut begins = 0;
        for (welcome, count, length, wait) in steps {
            text.push_str(if text.is_empty() { "" } else { ", " });
            if count > 0 {
                write!(text, "{count}x ").unwrap();
            }
            if wait > 0 {
                begins += wait * 3;
                write!(text, "at {begins}s ").unwrap();
            }
            if length > 0 {
                write!(text, "for {length}s ").unwrap();
            }
            text.push_str(["accept", "refuse", "reset", "hang"][welcome]);
        }
        text.push_str(if stops { ", stop" } else { "" });
        ListenerScript::parse(&text).unwrap()
    })
}

proptest! {
    // A time that is told too late leaves a port closed when it should be open; nobody would come to notice.
    #[test]
    fn a_door_does_not_change_before_the_time_that_it_tells(
        script in a_script(),
        comings in prop::collection::vec((0_u64..9, prop::bool::ANY), 1..20),
    ) {
        let mut arrivals = Arrivals::new(&script, Instant::START);
        let mut now = Instant::START;
        for (secs, comes) in comings {
            let told = arrivals.door(&script, now);
            let until = match told { Door::Open(until) | Door::Shut(until) => until };
            now = now.after(Duration::from_secs(secs));
            if now < until {
                prop_assert_eq!(arrivals.clone().door(&script, now), told);
            }
            let open = matches!(arrivals.door(&script, now), Door::Open(_));
            if comes && open {
                arrivals.next(&script, now);
            }
        }
    }

    // Whoever looks seldom must not see another script than who looks at every instant.
    #[test]
    fn looking_at_the_door_moves_nothing(script in a_script(), comings in prop::collection::vec(0_u64..9, 1..20)) {
        let mut looked = Arrivals::new(&script, Instant::START);
        let mut unlooked = looked.clone();
        let mut now = Instant::START;
        for secs in comings {
            for _ in 0..secs {
                now = now.after(Duration::from_secs(1));
                looked.door(&script, now);
            }
            prop_assert_eq!(looked.next(&script, now), unlooked.next(&script, now));
        }
    }
}
