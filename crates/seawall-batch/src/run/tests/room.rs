//! A disk that is full.

use super::*;

#[test]
fn a_full_disk_stops_the_sending_and_the_same_command_goes_on() {
    // Could break: a torn line, a row marked done that is in no file, an exit code that says "fine".
    let dir = Dir::new();
    let all = ["ok1", "short2", "bad3", "short4", "ok5"];
    let options = options(&dir, &all);
    for left in (0..900).step_by(37) {
        for path in [&options.out, &options.errors_path()] {
            let _ = fs::remove_file(path);
        }
        let fake = Fake::default();
        match go_on_disk(&options, &fake, &Arc::new(AtomicUsize::new(left))) {
            Ok(summary) => assert_eq!(summary.rows.pending, 0),
            Err(error) => {
                assert_eq!(error.exit(), Exit::Io, "{error}");
                let BatchError::Unwritten { rows, .. } = error else {
                    panic!("{error}");
                };
                let written = ids(&options.out).len() + ids(&options.errors_path()).len();
                assert_eq!(usize::try_from(rows).unwrap() + written, all.len());
            }
        }
        let written = ids(&options.out).len() + ids(&options.errors_path()).len();
        let again = Fake::default();
        go(&options, &again).unwrap();
        assert_eq!(again.calls().len() + written, all.len());
        assert_law(&options, &all);
    }
}

#[test]
fn answers_wait_for_room_even_when_nothing_is_in_flight_any_more() {
    // Could break: the last call ends while the disk is full, and its paid answer is dropped at once; or the run, which
    // began no more rows, says that it is complete.
    let dir = Dir::new();
    let names: Vec<String> = (0..1_200).map(|n| format!("ok{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = options(&dir, &names);
    let left = Arc::new(AtomicUsize::new(0));
    let (_interrupter, interrupts) = crate::interrupts();
    let (mut ui, disk) = (Silent::default(), full(&left));
    let summary = block(async {
        let room = async {
            pass(5).await;
            left.store(usize::MAX, Ordering::Relaxed);
        };
        let run = run_on(options.clone(), Fake::default(), interrupts, &mut ui, &disk);
        tokio::join!(run, room).0.unwrap()
    });
    assert_eq!((summary.rows.ok, summary.rows.pending), (1_000, 200));
    assert_eq!(summary.exit(), Exit::Io);
    assert_eq!(ids(&options.out).len(), 1_000);
    go(&options, &Fake::default()).unwrap();
    assert_law(&options, &names);
}

#[test]
fn an_answer_that_found_no_room_is_written_once_there_is_room() {
    // Could break: held answers dropped though the disk was emptied while others were in flight.
    let dir = Dir::new();
    let options = options(&dir, &["ok1", "short2"]);
    let left = Arc::new(AtomicUsize::new(0));
    let (_interrupter, interrupts) = crate::interrupts();
    let (mut ui, disk) = (Silent::default(), full(&left));
    let summary = block(async {
        let room = async {
            pass(1).await;
            left.store(10_000, Ordering::Relaxed);
        };
        let run = run_on(options.clone(), Fake::default(), interrupts, &mut ui, &disk);
        tokio::join!(run, room).0.unwrap()
    });
    assert_eq!(summary.exit(), Exit::Done);
    assert!(ui.0[0].contains("no more rows are begun"), "{:?}", ui.0);
    assert_law(&options, &["ok1", "short2"]);
}

#[test]
fn a_stopped_run_waits_for_room_as_well() {
    // Could break: a disk that is full only when the run is already ending, whose last paid answers are dropped.
    let dir = Dir::new();
    let options = options(&dir, &["short1", "short2"]);
    let left = Arc::new(AtomicUsize::new(0));
    let (interrupter, interrupts) = crate::interrupts();
    let (mut ui, disk) = (Silent::default(), full(&left));
    let summary = block(async {
        let room = async {
            pass(1).await;
            interrupter.interrupt();
            pass(5).await;
            left.store(usize::MAX, Ordering::Relaxed);
        };
        let run = run_on(options.clone(), Fake::default(), interrupts, &mut ui, &disk);
        tokio::join!(run, room).0.unwrap()
    });
    assert_eq!(summary.exit(), Exit::Done);
    assert_law(&options, &["short1", "short2"]);
}
