use super::*;
use expect_test::expect;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn snapshot(done: u64) -> Snapshot {
    Snapshot {
        done,
        total: 1_000,
        failed: 2,
        in_flight: 1,
        waiting: 0,
        waits: Waits::default(),
        oldest: Duration::from_millis(312_900),
        rate_per_s: None,
        eta: None,
    }
}

/// Shows a snapshot ten times a second for so long.
async fn shown(shown: Shown, secs: u64) -> String {
    let paper = Paper::default();
    let mut progress = Progress::new(shown, Screen::Pipe, Box::new(paper.clone()));
    for tick in 0..secs * 10 {
        progress.show(&snapshot(tick));
        tokio::time::advance(SHOWN_EVERY).await;
    }
    progress.note("careful");
    progress.finish(&snapshot(1_000));
    let text = paper.0.lock().unwrap().clone();
    String::from_utf8(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_pipe_gets_a_line_now_and_then() {
    // Could break: control characters in a log, or ten lines a second.
    expect![[r#"
        0/1000 done, 2 failed, 1 in flight (oldest 5m12s)
        100/1000 done, 2 failed, 1 in flight (oldest 5m12s)
        200/1000 done, 2 failed, 1 in flight (oldest 5m12s)
        careful
        1000/1000 done, 2 failed, 1 in flight (oldest 5m12s)
    "#]]
    .assert_eq(&shown(Shown::Bar, 25).await);
    expect![[r#"
        {"done":0,"eta_ms":null,"event":"progress","failed":2,"in_flight":1,"oldest_ms":312900,"rate_per_s":null,"total":1000,"waiting":0,"waiting_by":{}}
        {"done":10,"eta_ms":null,"event":"progress","failed":2,"in_flight":1,"oldest_ms":312900,"rate_per_s":null,"total":1000,"waiting":0,"waiting_by":{}}
        {"event":"note","text":"careful"}
        {"done":1000,"eta_ms":null,"event":"end","failed":2,"in_flight":1,"oldest_ms":312900,"rate_per_s":null,"total":1000,"waiting":0,"waiting_by":{}}
    "#]].assert_eq(&shown(Shown::Json, 2).await);
    assert_eq!(shown(Shown::Nothing, 25).await, "careful\n");
}

#[tokio::test(start_paused = true)]
async fn a_rate_is_that_of_the_last_minute_and_unknown_before_it_is_known() {
    // Could break: an ETA from the first row, or from a fast start an hour ago.
    let mut rate = Rate::default();
    assert_eq!(rate.sample(crate::clock::now(), 0), None);
    tokio::time::advance(core::time::Duration::from_secs(1)).await;
    assert_eq!(rate.sample(crate::clock::now(), 100), None);
    let mut last = None;
    for second in 1..=200 {
        tokio::time::advance(core::time::Duration::from_secs(1)).await;
        last = rate.sample(crate::clock::now(), 100 + 2 * second);
    }
    let rate_per_s = last.unwrap();
    assert!((rate_per_s - 2.0).abs() < 0.01, "{rate_per_s}");
    assert_eq!(eta(10, 2.0), Some(Duration::from_secs(5)));
    assert_eq!(eta(10, 0.0), None);
    let known = Snapshot {
        rate_per_s: last,
        eta: eta(700, 2.0),
        ..snapshot(300)
    };
    expect!["300/1000 done, 2 failed, 1 in flight (oldest 5m12s), 2.0/s, 5m50s to go"]
        .assert_eq(&known.to_string());
}
