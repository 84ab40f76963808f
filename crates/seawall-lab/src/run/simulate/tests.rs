use super::*;
use std::num::NonZeroUsize;

const FILE: &str = r#"
horizon = "20s"
seeds = 3
load = { rate = 50, clients = 4 }
[server]
capacity = 100
orphans = "worked"
failures = 0.2
outages = [{ at = "5s", for = "2s", how = "hang" }]
[[policy]]
name = "default"
fleet = "one"
timeouts.first_byte = "1s"
[[policy]]
name = "at once"
naive = "immediate"
retries = 3
fleet = "client"
"#;

fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).expect("some")
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    // Could break by tallies in the order in which threads end, or by chance that a thread shares with the next job.
    let simulation = Simulation::parse("a.toml", FILE).unwrap_or_else(|errors| panic!("{errors}"));
    let studies = std::slice::from_ref(&simulation.study);
    let json = |count| {
        let tallies = run_studies(studies, threads(count), &Halt::default(), |_| {});
        simulation
            .document(&tallies.expect("nobody stopped it")[0])
            .json()
    };
    let alone = json(1);
    assert!(alone.contains("\"at once\""));
    for count in [2, 7, 100] {
        assert_eq!(json(count), alone, "{count} threads");
    }
    let by_hand: Vec<Tally> = simulation
        .study
        .jobs()
        .map(|job| simulation.study.run(job))
        .collect();
    assert_eq!(simulation.document(&by_hand).json(), alone);
}

#[test]
fn every_run_is_told_and_a_pulled_cord_ends_them() {
    // Could break by a count that two threads tell alike, or by a run that goes on after Ctrl-C.
    let simulation = Simulation::parse("a.toml", FILE).unwrap_or_else(|errors| panic!("{errors}"));
    let studies = std::slice::from_ref(&simulation.study);
    let told = Mutex::new(Vec::new());
    let ended = run_studies(studies, threads(3), &Halt::default(), |progress| {
        told.lock().expect("nobody panics").push(progress.done);
    });
    assert!(ended.is_ok());
    let mut told = told.into_inner().expect("nobody panics");
    told.sort_unstable();
    assert_eq!(told, [1, 2, 3, 4, 5, 6]);
    let halt = Halt::default();
    let ended = run_studies(studies, threads(1), &halt, |progress| {
        assert!(progress.done <= 2, "the cord was pulled");
        if progress.done == 2 {
            halt.pull();
        }
    });
    assert_eq!(ended, Err(Stopped::Halted));
}

#[test]
fn more_than_any_machine_holds_is_refused_with_its_name() {
    // Could break by a list of runs that is made before they are counted, or by a tally of a run that was cut short.
    let ended = |text: &str, seeds| {
        let mut simulation = Simulation::parse("a.toml", text).unwrap_or_else(|errors| panic!("{errors}"));
        simulation.study.seeds = seeds;
        let studies = std::slice::from_ref(&simulation.study);
        run_studies(studies, threads(2), &Halt::default(), |_| {})
    };
    assert_eq!(
        ended(FILE, u32::MAX),
        Err(Stopped::TooManyRuns(2 * u64::from(u32::MAX)))
    );
    let each = FILE.replace("clients = 4", "clients = 90000000");
    let too_large = Stopped::TooLarge {
        policy: "at once".to_owned(),
        seed: 0,
        overran: Overrun::Memory,
    };
    assert_eq!(ended(&each, 2), Err(too_large));
}

#[test]
fn a_machine_without_more_threads_does_all_of_it_with_those_that_it_has() {
    // Could break by a thread that cannot be had and takes the whole run with it.
    let simulation = Simulation::parse("a.toml", FILE).unwrap_or_else(|errors| panic!("{errors}"));
    let studies = std::slice::from_ref(&simulation.study);
    let tallies = run_studies(studies, NonZeroUsize::MAX, &Halt::default(), |_| {});
    assert_eq!(tallies.map(|tallies| tallies[0].len()), Ok(6));
}

#[test]
fn where_nobody_called_the_report_says_so() {
    // Could break by a column of zeros that looks like a result.
    let seldom = FILE.replace("rate = 50", "rate = 1e-6");
    let simulation = Simulation::parse("a.toml", &seldom).unwrap_or_else(|errors| panic!("{errors}"));
    let tallies: Vec<Tally> = simulation
        .study
        .jobs()
        .map(|job| simulation.study.run(job))
        .collect();
    let document = simulation.document(&tallies);
    assert!(
        document.notes[0].starts_with("nobody called"),
        "{:?}",
        document.notes
    );
}

#[test]
fn of_runs_under_way_the_one_that_is_least_far_is_told() {
    // Could break by a thread whose run has ended and still stands for one, or by a share of another horizon.
    let run = |passed, horizon| UnderWay {
        far: HowFar {
            now: Instant::START.after(Duration::from_secs(passed)),
            steps: 1_000,
        },
        horizon: Duration::from_secs(horizon),
    };
    let abreast = Abreast::new(3);
    assert_eq!(abreast.at(1, Some(run(30, 60))), Some(run(30, 60)));
    assert_eq!(
        abreast.at(0, Some(run(40, 400))),
        Some(run(40, 400)),
        "a tenth of it"
    );
    assert_eq!(abreast.at(1, Some(run(31, 60))), Some(run(40, 400)));
    assert_eq!(abreast.at(0, None), Some(run(31, 60)));
    assert_eq!(abreast.at(1, None), None);
    assert_eq!(run(40, 400).steps_expected(), Some(10_000.0));
    assert_eq!(run(0, 400).steps_expected(), None);
    assert_eq!(
        run(500, 400).steps_expected(),
        Some(1_000.0),
        "the last calls end"
    );
}
