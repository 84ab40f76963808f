use super::*;

const FILE: &str = r#"
horizon = "40s"
seeds = 3
assert = ["amplification < 1.3"]
[load]
rate = 10
clients = 10
[server]
workers = 3
latency = "200ms"
orphans = "worked"
outages = [{ at = "10s", for = "3s", how = "hang" }]
[[policy]]
name = "ours"
fleet = "one"
deadline = "20s"
"#;

fn searched(threads: usize) -> String {
    let simulation = Simulation::parse("stall.toml", FILE).expect("a right file");
    let search = Mutex::new(search(&simulation, 80, Prefers::Knee));
    let threads = NonZeroUsize::new(threads).expect("some");
    run(&search, threads, &Halt::default(), |_| {}).expect("a small world");
    search.lock().unwrap().found().json()
}

#[test]
fn any_number_of_threads_finds_the_same() {
    // Could break by tallies that are told in the order in which they are ready.
    assert_eq!(searched(1), searched(3));
}

#[test]
fn a_search_whose_halt_is_pulled_keeps_what_it_was_told() {
    // Could break by a batch that is told in part.
    let simulation = Simulation::parse("stall.toml", FILE).expect("a right file");
    let search = Mutex::new(search(&simulation, 400, Prefers::Knee));
    let halt = Halt::default();
    let ended = run(&search, NonZeroUsize::MIN, &halt, |progress| {
        if progress.done == 60 {
            halt.pull();
        }
    });
    assert_eq!(ended, Ok(()));
    let found = search.lock().unwrap().found();
    assert!(
        !found.complete && found.runs > 0 && found.runs <= 60,
        "{}",
        found.runs
    );
    assert!(found.winner.is_some());
}
