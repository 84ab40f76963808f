mod policies;

use super::*;
use crate::sim::luck::Amount;
use crate::sim::model::*;
use crate::sim::preset;
use expect_test::expect;
use seawall_core::policy::{Concurrency, DEFAULT_FIRST_BYTE, Jitter, Policy, PolicyBuilder};
use seawall_core::time::Instant;
use serde_json::Value as Json;

/// A file that is right.
const RIGHT: &str = r#"horizon = "1m"
load = { rate = 100 }
server = { capacity = 150, orphans = "worked" }
[[policy]]
name = "default"
fleet = "one"
"#;

fn parse(text: &str) -> Simulation {
    Simulation::parse("a.toml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The right file with one line in place of the one that has this key.
fn with(key: &str, line: &str) -> String {
    let lines = RIGHT
        .lines()
        .map(|old| if old.starts_with(key) { line } else { old });
    lines.map(|line| format!("{line}\n")).collect()
}

fn model(text: &str) -> Model {
    parse(text).study.model
}

#[test]
fn what_a_file_says_is_what_is_simulated() {
    // Could break by a key that is read and dropped.
    let simulation = parse(RIGHT);
    assert_eq!(
        (simulation.study.seed, simulation.study.seeds),
        (0, DEFAULT_SEEDS)
    );
    assert_eq!(simulation.study.name, "a");
    let server = &simulation.study.model.servers[0];
    assert_eq!(server.capacity, Capacity::Workers(1));
    assert_eq!(server.service, Length::Fixed(Duration::from_nanos(6_666_667)));
    assert_eq!(
        simulation.study.contenders[0].policy,
        seawall_core::policy::Policy::builder().build().expect("right")
    );

    let of = |server: &str| {
        model(&with("server", &format!("server = {server}")))
            .servers
            .remove(0)
    };
    let workers = of(
        "{ capacity = 300, latency = \"100ms\", overload = \"shed\", orphans = \"dropped\", order = \"lifo\" }",
    );
    assert_eq!(workers.capacity, Capacity::Workers(30));
    assert_eq!(
        (workers.queue_max, workers.orphans, workers.order),
        (Some(0), Orphans::Dropped, Order::Lifo)
    );
    let coupled = of("{ slope = \"10ms\", latency = \"1s\", failures = { first = 0.1, again = 0.5 } }");
    assert_eq!(
        coupled.capacity,
        Capacity::Coupled {
            slope: Duration::from_millis(10)
        }
    );
    assert_eq!(
        coupled.failures,
        Failures::Sticky {
            first: 0.1,
            again: 0.5
        }
    );
    let tokens = RIGHT.replace("load = {", "load = { tokens = { input = 1, output = 1 },");
    let priced = tokens.replace(
        "server = {",
        "server = { price = { input = 0.42, output = 1.1 }, limit = { rpm = 60 },",
    );
    let priced = model(&priced).servers.remove(0);
    assert_eq!(
        (priced.price.per_million_in, priced.price.per_million_out),
        (420_000, 1_100_000)
    );
    assert_eq!(
        priced
            .limit
            .and_then(|limit| limit.requests_per_minute)
            .map(u32::from),
        Some(60)
    );
    assert_eq!(
        of("{ capacity = \"optimistic-lock\" }").capacity,
        Capacity::OptimisticLock
    );
}

#[test]
fn naive_is_without_all_that_protects_a_server() {
    // Could break by a budget that stays: naive retries would look harmless.
    let policy = |keys: &str| {
        let text = RIGHT.replace("fleet = \"one\"", &format!("fleet = \"one\"\n{keys}"));
        parse(&text).study.contenders.remove(0).policy
    };
    for (keys, retries, first, third) in [
        ("naive = \"none\"", 0, 500, 2_000),
        ("naive = \"immediate\"\nretries = 3", 3, 0, 0),
        ("naive = \"fixed\"\nretries = 2\nwait = \"1s\"", 2, 1_000, 1_000),
        (
            "naive = \"exponential\"\nretries = 9\nbackoff.base = \"100ms\"",
            9,
            100,
            400,
        ),
    ] {
        let policy = policy(keys);
        assert_eq!(
            (policy.gate.budget(), policy.gate.breaker()),
            (None, None),
            "{keys}"
        );
        assert_eq!(policy.call.retries(), retries, "{keys}");
        let backoff = policy.call.backoff();
        assert_eq!(backoff.jitter(), Jitter::None, "{keys}");
        assert_eq!(backoff.ceiling(0), Duration::from_millis(first), "{keys}");
        assert_eq!(backoff.ceiling(2), Duration::from_millis(third), "{keys}");
    }
}

#[test]
fn a_layer_may_be_as_naive_as_a_client_however_its_policy_is_written() {
    // Could break by a comma that is left where a key was blanked out, or by a budget that a naive layer keeps.
    let layer = |policy: &str| {
        let text = format!("{RIGHT}[layers]\ncount = 2\nprocesses = 1\ntold = \"nothing\"\n{policy}\n");
        let layers = parse(&text).study.model.layers;
        assert_eq!(layers[0].policy, layers[1].policy, "{policy}");
        layers[0].policy.expect("it has one")
    };
    let fixed = [
        "policy = { naive = \"fixed\", wait = \"1s\", retries = 3 }",
        "policy = { retries = 3, naive = \"fixed\", wait = \"1s\" }",
        "policy = { naive = \"fixed\", retries = 3, timeouts = { first_byte = \"30s\" }, wait = \"1s\" }",
        "policy.naive = \"fixed\"\npolicy.wait = \"1s\"\npolicy.retries = 3",
        "[layers.policy]\nnaive = \"fixed\"\nwait = \"1s\"\nretries = 3",
    ];
    for policy in fixed.map(layer) {
        assert_eq!((policy.gate.budget(), policy.gate.breaker()), (None, None));
        assert_eq!(policy.call.retries(), 3);
        let waits = policy.call.backoff();
        assert_eq!(
            (waits.ceiling(0), waits.ceiling(2)),
            (Duration::from_secs(1), Duration::from_secs(1))
        );
    }
    let none = layer("policy = { naive = \"none\" }");
    assert_eq!((none.call.retries(), none.gate.budget()), (0, None));
    let immediate = layer("policy = { naive = \"immediate\", retries = 2 }");
    assert_eq!(immediate.call.backoff().ceiling(1), Duration::ZERO);
    let text = format!(
        "{RIGHT}[layers]\ncount = 1\nprocesses = 1\ntold = \"nothing\"\npolicy = {{ naive = \"none\", retries = 1, budgt = \"off\" }}\n"
    );
    let errors = Simulation::parse("a.toml", &text).expect_err("a key that is none");
    assert_eq!(
        errors.iter().map(SimulationError::place).collect::<Vec<_>>(),
        [(11, 41)],
        "{errors}"
    );
}

#[test]
fn a_policys_tables_may_be_written_in_every_way_and_its_errors_have_their_places() {
    // Could break by a head that is blanked out with the rest of the file, or by a line that is counted from elsewhere.
    let text = format!(
        "{RIGHT}retries = 2\n[policy.backoff]\nbase = \"2s\"\n[[policy]]\nname = \"other\"\nbackoff = {{ base = \"3s\" }}\n\
         budget.ratio = 0.2\nfleet = \"one\"\nassert = [\"amplification < 1.3\"]\n"
    );
    let simulation = parse(&text);
    let bases: Vec<Duration> = simulation
        .study
        .contenders
        .iter()
        .map(|contender| contender.policy.call.backoff().base())
        .collect();
    assert_eq!(bases, [Duration::from_secs(2), Duration::from_secs(3)]);
    assert_eq!(simulation.study.contenders[0].policy.call.retries(), 2);
    assert_eq!(simulation.asserts[0].policy, Some(1));
    let wrong = text
        .replace("base = \"3s\"", "bass = \"3s\"")
        .replace("base = \"2s\"", "base = \"2\"");
    let errors = Simulation::parse("a.toml", &wrong).expect_err("two mistakes");
    let places: Vec<(usize, usize)> = errors.iter().map(SimulationError::place).collect();
    assert_eq!(places, [(9, 8), (12, 13)], "{errors}");
}

#[test]
fn a_file_that_is_made_of_a_report_means_the_same() {
    // Could break by a switch that a report leaves out: nobody could say what it is of.
    let policy = "[[policy]]\nname = \"x\"\nfleet = { process = 10 }\n";
    let layers = "[[layer]]\nname = \"edge\"\nprocesses = 2\ntold = \"attempts\"\npolicy = { retries = 1, deadline = \"2m\", timeouts = { first_byte = \"1m\" } }\n\
                  [[layer]]\nprocesses = 1\ntold = \"nothing\"\n";
    let rich = "retries = 7\nfallbacks = 0\ntries = 4\npatience = \"3s\"\ndeadline = \"90.5s\"\nhedge = { after = \"p99.5\", at_most = 0.05 }\nbudget = \"off\"\n\
                [policy.backoff]\njitter = { proportional = 0.25 }\nfactor = 1.5\n\
                [policy.breaker]\nramp = \"5s\"\nslow_call = { over = \"1s\", rate = 0.25 }\nmode = \"observe\"\n\
                [policy.limits]\nconcurrency = { auto = \"first-byte\" }\nrequests_per_minute = 600\n\
                [policy.timeouts]\ntotal = \"70s\"\n";
    for (load, server, spread, policies) in [
        (
            "rate = 0.5\ngaps = \"constant\"\nclients = 7\nbursts = [{ at = \"1s\", for = \"2s\", factor = 2.5 }]",
            "workers = 3\nlatency = { p50 = \"10ms\", p99 = \"1s\" }\nqueue = 5\norphans = \"dropped\"\norder = \"lifo\"\nreject_cost = \"1.5ms\"\n\
          outages = [{ at = \"1s\", for = \"3s\", how = \"429\", retry_after = \"2s\" }, { at = \"5s\", for = \"1s\", how = \"slow\", factor = 3, share = 0.5 }]",
            "",
            format!("{policy}{layers}"),
        ),
        (
            "clients = 9\nthink = { exponential = \"1s\" }\nstart = \"spread\"\ncalls_each = 3\n\
             tokens = { input = { p50 = 1020, p99 = 4142 }, output = { exponential = 150 }, output_max = 1000 }",
            "capacity = \"unbounded\"\nlatency = { exponential = \"1ms\", rare = \"2s\", rare_share = 0.01 }\nfailures = 0.25\n\
          renewal = { up = { exponential = \"9s\" }, down = \"1s\", how = \"hang\" }\nlimit = { rps = 5, burst = 9, tpm = 1000, concurrency = 3 }\n\
          price = { input = 0.42, output = 1.1 }\ngeneration = { input = \"150us\", output = \"20ms\", stream = true }",
            "",
            format!("{policy}{rich}"),
        ),
        (
            "connections = 4\nrate = 1000\ntokens = { input = { uniform = [0, 9] }, output = 5 }",
            "slope = \"2ms\"\nlatency = { uniform = [\"1ms\", \"3ms\"] }\nfailures = { first = 0.1, again = 0.5 }\n\
          [[server]]\ncapacity = \"optimistic-lock\"",
            "spread = \"shards-own-gates\"",
            policy.replace(
                "fleet = { process = 10 }",
                "fleet = \"client\"\npreset = \"batch\"",
            ),
        ),
    ] {
        let several = server.contains("[[server]]");
        let head = if several { "[[server]]" } else { "[server]" };
        let text = format!(
            "name = \"n\"\nseeds = 1\nhorizon = \"90.5s\"\nwarmup = \"1s\"\nhop = {{ folded_normal = [\"10ms\", \"2ms\"] }}\n{spread}\n\
             [load]\n{load}\n{head}\n{server}\n{policies}",
        );
        let first = parse(&text);
        let again = parse(&format!("seeds = 1\n{}", file_of(&scenario_of(&first))));
        assert_eq!(again.study.model, first.study.model, "{text}");
        assert_eq!(scenario_of(&again), scenario_of(&first), "{text}");
        let policies = |simulation: &Simulation| {
            let contenders = simulation.study.contenders.iter();
            contenders
                .map(|contender| spelt(contender.policy))
                .collect::<Vec<_>>()
        };
        assert_eq!(policies(&again), policies(&first), "{text}");
    }
}

/// The policy, with what nobody wrote written out, as a report does.
fn spelt(policy: Policy) -> Policy {
    let call = policy.call;
    let first_byte = call.timeouts().first_byte().unwrap_or(DEFAULT_FIRST_BYTE);
    let builder = PolicyBuilder::from_policy(policy).deadline(call.deadline());
    builder.first_byte(first_byte).build().expect("it was read")
}

/// The switches of a report.
fn scenario_of(simulation: &Simulation) -> serde_json::Map<String, Json> {
    let studies = std::slice::from_ref(&simulation.study);
    let mut document = Document::of("n", studies, &[vec![Tally::default()]]);
    document.scenario.remove(0)
}

/// A report's scenario as a file.
fn file_of(scenario: &serde_json::Map<String, Json>) -> String {
    let mut text = String::new();
    for (key, value) in scenario.iter().filter(|(key, _)| *key != "policy") {
        text.push_str(&format!("{key} = {}\n", inline(value)));
    }
    for policy in scenario["policy"].as_array().expect("a list") {
        text.push_str("[[policy]]\n");
        for (key, value) in policy.as_object().expect("a table") {
            text.push_str(&format!("{key} = {}\n", inline(value)));
        }
    }
    text
}

fn inline(value: &Json) -> String {
    match value {
        Json::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{key} = {}", inline(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Json::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
    }
}

#[test]
fn calls_that_were_recorded_come_faster_and_again() {
    // Could break by a rate that is scaled the wrong way round, or by a second round that begins on top of the first.
    let path = std::env::temp_dir().join(format!("seawall-load-{}.jsonl", std::process::id()));
    std::fs::write(
        &path,
        "{\"t\": 0, \"in\": 5}\n{\"t\": 2}\n{\"t\": 4}\n{\"t\": 6}\n",
    )
    .expect("a file");
    let shown = path.display();
    let arrivals = |keys: &str| {
        let line = format!("load = {{ trace = '{shown}', format = \"jsonl\"{keys} }}");
        let text = with("load", &line).replace("horizon = \"1m\"", "horizon = \"10s\"");
        match model(&text).load {
            Load::Trace { calls, .. } => calls
                .iter()
                .map(|call| call.at.since(Instant::START).as_millis())
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(arrivals(""), [0, 2_000, 4_000, 6_000]);
    assert_eq!(arrivals(", scale_rate = 2"), [0, 1_000, 2_000, 3_000]);
    assert_eq!(arrivals(", loop = true"), [0, 2_000, 4_000, 6_000, 8_000]);
    assert_eq!(
        arrivals(", loop = true, window = [\"1s\", \"5s\"]"),
        [1_000, 3_000, 5_000, 7_000, 9_000]
    );
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn a_models_times_and_failures_are_those_of_the_trace_where_a_file_says_so() {
    // Could break by a fit that is made and dropped, or by one whose report cannot be read as a file.
    let path = std::env::temp_dir().join(format!("seawall-fit-{}.csv", std::process::id()));
    let mut text = "Timestamp,Elapsed time,Model,Request tokens,Response tokens\n".to_owned();
    for nth in 0..40_u32 {
        let (read, written) = (
            100 + nth * 37 % 90,
            if nth % 10 == 9 { 0 } else { 10 + nth * 53 % 70 },
        );
        // 500 ms, 1 ms for a token read and 20 ms for one written.
        let ms = 500 + read + 20 * written;
        text.push_str(&format!(
            "{nth},{}.{:03},x,{read},{written}\n",
            ms / 1_000,
            ms % 1_000
        ));
    }
    std::fs::write(&path, text).expect("a file");
    let load = format!("load = {{ trace = '{}', format = \"burstgpt\" }}", path.display());
    let server = "server = { workers = 5, orphans = \"worked\", failures = \"trace\", generation = { fit = \"trace\", stream = false } }";
    let text = with("load", &load).replace("server = { capacity = 150, orphans = \"worked\" }", server);
    let simulation = parse(&text);
    std::fs::remove_file(path).expect("it is there");
    let server = &simulation.study.model.servers[0];
    let generation = server.generation.expect("a model");
    assert_eq!(generation.sent, AnswerIs::Whole);
    let millis = |length: Duration| (length.as_nanos() + 500_000) / 1_000_000;
    assert_eq!(
        (
            millis(generation.per_token_in),
            millis(generation.per_token_out),
            millis(server.service.mean())
        ),
        (1, 20, 500)
    );
    assert_eq!(server.failures, Failures::Independent { chance: 0.1 });
    let notes = simulation.notes.join("\n");
    assert!(notes.contains("fitted to 36 answers: "), "{notes}");
    assert!(
        notes.contains("tokens explain 100 % of how their times differ"),
        "{notes}"
    );
    assert!(
        notes.contains("4 of 40 calls were answered with no token"),
        "{notes}"
    );
}

#[test]
fn tokens_are_drawn_for_a_trace_that_has_none_and_refused_for_one_that_has() {
    // Could break by calls whose recorded tokens are replaced in silence.
    let path = std::env::temp_dir().join(format!("seawall-tokens-{}.jsonl", std::process::id()));
    let line = format!(
        "load = {{ trace = '{}', format = \"jsonl\", tokens = {{ input = 5, output = 6, output_max = 9 }} }}",
        path.display()
    );
    std::fs::write(&path, "{\"t\": 0}\n{\"t\": 2}\n").expect("a file");
    let drawn = model(&with("load", &line)).tokens;
    assert_eq!((drawn.read, drawn.written_max), (Amount::Fixed(5), Some(9)));
    std::fs::write(&path, "{\"t\": 0}\n{\"t\": 2, \"in\": 1}\n").expect("a file");
    let errors = Simulation::parse("a.toml", &with("load", &line)).expect_err("two truths");
    std::fs::remove_file(path).expect("it is there");
    assert!(
        errors
            .to_string()
            .contains("the calls of this trace have tokens of their own"),
        "{errors}"
    );
}

#[test]
fn what_a_pasted_policy_and_a_stream_cannot_do_is_told() {
    // Could break by a limit on tokens that lets everything through, or by a stream that hangs for minutes though its policy
    // says seconds, and a reader who believes both.
    let notes = |text: &str| parse(text).notes.join("\n");
    let limited = format!("{RIGHT}limits = {{ tokens_per_minute = 1000 }}\n");
    let told = notes(&limited);
    assert!(
        told.starts_with("default: its limits on tokens bound nothing"),
        "{told}"
    );
    let tokens = |text: &str| text.replace("load = {", "load = { tokens = { input = 1, output = 1 },");
    assert_eq!(notes(&tokens(&limited)), "");
    let stream = |outage: &str| {
        let server = format!(
            "server = {{ workers = 3, latency = \"1s\", orphans = \"worked\", generation = {{ input = \"1ms\", output = \"1ms\", \
             stream = true }}, outages = [{{ at = \"1s\", for = \"5s\", how = {outage} }}] }}"
        );
        notes(&tokens(&with("server", &server)))
    };
    for (outage, is_told) in [
        ("\"hang\"", true),
        ("\"slow\", factor = 9", true),
        ("\"503\"", false),
    ] {
        let told = stream(outage);
        assert_eq!(told.contains("timeouts.idle"), is_told, "{outage}: {told}");
    }
}

#[test]
fn ups_and_downs_that_were_recorded_are_outages() {
    // Could break by a window that moves what is in it, by an outage that outlives the horizon, or by a service that is up
    // again since its file ends.
    let path = std::env::temp_dir().join(format!("seawall-load-{}.csv", std::process::id()));
    let text = "ts,service,state\n2024-10-30T00:00:00Z,x,up\n2024-10-30T00:00:10Z,x,down\n2024-10-30T00:00:30Z,x,up\n\
                2024-10-30T00:00:50Z,x,down\n2024-10-30T00:03:00Z,y,down\n";
    std::fs::write(&path, text).expect("a file");
    let outages = |keys: &str| {
        let events = format!(
            "outages = {{ events = '{}', service = \"x\", how = \"503\"{keys} }}",
            path.display()
        );
        let line = format!("server = {{ capacity = 150, orphans = \"worked\", {events} }}");
        let server = model(&with("server", &line)).servers.remove(0);
        let times = server
            .outages
            .iter()
            .map(|outage| (outage.at.since(Instant::START).as_secs(), outage.lasts.as_secs()));
        times.collect::<Vec<_>>()
    };
    assert_eq!(outages(""), [(10, 20), (50, 10)]);
    assert_eq!(outages(", window = [\"20s\", \"60s\"]"), [(0, 10), (30, 10)]);
    let ends_down = "ts,service,state\n2024-10-30T00:00:00Z,x,up\n2024-10-30T00:00:05Z,x,down\n";
    std::fs::write(&path, ends_down).expect("a file");
    assert_eq!(outages(""), [(5, 55)]);
    assert_eq!(outages(", window = [\"20s\", \"30s\"]"), [(0, 10)]);
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn every_mistake_is_told_with_what_is_right() {
    // Could break by a mistake that is taken for something, or by a message that does not say what to write.
    let policy = |keys: &str| format!("{RIGHT}{keys}\n");
    let server = |keys: &str| with("server", &format!("server = {{ {keys} }}"));
    let load = |keys: &str| with("load", &format!("load = {{ {keys} }}"));
    let outage = |keys: &str| {
        server(&format!(
            "capacity = 150, orphans = \"worked\", outages = [{keys}]"
        ))
    };
    let files = [
        String::new(),
        "horizon = ".to_owned(),
        with("horizon", ""),
        with("horizon", "horizon = 60"),
        with("horizon", "horizon = \"0s\""),
        with("horizon", "horizon = \"99999999999999999999s\""),
        with("horizon", "horizon = \"1441h\""),
        with("horizon", "horizon = \"1m\"\nhorizn = \"2m\""),
        with("horizon", "horizon = \"1m\"\nwarmup = \"1m\""),
        with("horizon", "horizon = \"1m\"\nseeds = 0"),
        with("horizon", "horizon = \"1m\"\nhop = 5"),
        with("horizon", "horizon = \"1m\"\nhop = \"500000000000h\""),
        with("horizon", "horizon = \"1m\"\nspread = \"rout\""),
        with("load", ""),
        load("rat = 100"),
        load("rate = \"100\""),
        load("rate = -1"),
        load("rate = 100, gaps = \"posson\""),
        load("rate = 100, think = \"1s\""),
        load(
            "rate = 100, bursts = [{ at = \"5s\", for = \"5s\", factor = 2 }, { at = \"6s\", for = \"1s\", factor = 2 }]",
        ),
        load("rate = 100, bursts = [{ at = \"5s\" }]"),
        load("clients = 5, think = \"1s\""),
        load("clients = 5, think = \"0s\", start = \"together\""),
        load("connections = 5"),
        load("rate = 100, tokens = 5"),
        load("rate = 100, tokens = { input = 5 }"),
        load("rate = 100, tokens = { input = 5, output = \"many\" }"),
        load("rate = 100, tokens = { input = { p50 = 9, p99 = 5 }, output = { p50 = 9 }, outputs = 5 }"),
        load(
            "rate = 100, tokens = { input = { uniform = [9, 5] }, output = { uniform = 5 }, output_max = 0 }",
        ),
        load("trace = \"calls.csv\""),
        load("trace = \"nowhere.csv\", format = \"azure\""),
        load("trace = \"nowhere.csv\", format = \"azur\", window = [\"2s\", \"1s\"]"),
        with("server", ""),
        server("latency = \"1s\""),
        server("capacity = 150"),
        server("capacity = \"boundless\", latency = \"1s\""),
        server("capacity = \"unbounded\""),
        server("capacity = \"unbounded\", latency = \"1s\", queue = 5"),
        server("capacity = \"optimistic-lock\", latency = \"1s\""),
        server("capacity = 155, latency = \"100ms\", orphans = \"worked\""),
        server("capacity = 150, workers = 5, orphans = \"worked\""),
        server("workers = 5, orphans = \"worked\""),
        server("workers = 5, latency = { p50 = \"2s\", p99 = \"1s\" }, orphans = \"worked\""),
        server("workers = 5, latency = { p50 = \"2s\" }, orphans = \"worked\""),
        server("workers = 5, latency = { uniform = [\"2s\", \"1s\"] }, orphans = \"worked\""),
        server("capacity = 150, orphans = \"worked\", overload = \"queue\", queue = 5"),
        server("capacity = 150, orphans = \"worked\", overload = \"shed\", queue = \"unbounded\""),
        server("capacity = 150, orphans = \"worked\", failures = 1.5"),
        server("capacity = 150, orphans = \"worked\", failures = \"trace\""),
        server("capacity = \"unbounded\", latency = \"1s\", reject_cost = \"1ms\""),
        server(
            "capacity = 150, orphans = \"worked\", generation = { input = \"1ms\", output = \"1ms\", stream = true }",
        ),
        server("capacity = \"unbounded\", generation = { input = \"1ms\", output = \"1ms\", stream = true }"),
        server(
            "capacity = \"unbounded\", latency = \"1s\", generation = { input = \"1ms\", output = \"2h\" }",
        ),
        server("capacity = \"unbounded\", generation = { fit = \"trace\", stream = true }"),
        server("capacity = \"unbounded\", latency = \"1s\", generation = { fit = \"trace\", stream = true }"),
        server("capacity = \"unbounded\", generation = { fit = \"trace\", input = \"1ms\", stream = true }"),
        server(
            "capacity = \"optimistic-lock\", outages = [{ at = \"1s\", for = \"1s\", how = \"slow\", factor = 2 }]",
        ),
        server("capacity = \"optimistic-lock\", renewal = { up = \"9s\", down = \"1s\", how = \"hang\" }"),
        outage("{ at = \"1s\", for = \"1s\", how = \"hang\", share = 0.5 }"),
        server(
            "capacity = \"optimistic-lock\", generation = { input = \"1ms\", output = \"1ms\", stream = true }",
        ),
        with(
            "server",
            "spread = \"route\"\nserver = [{ capacity = \"unbounded\", latency = \"1s\" }, { capacity = \"unbounded\", latency = \"1s\", generation = { input = \"1ms\", output = \"1ms\", stream = true } }]",
        ),
        server("capacity = 150, orphans = \"worked\", failures = { first = 0.5 }"),
        server("capacity = 150, orphans = \"worked\", limit = { key = \"header:x\" }"),
        server("capacity = 150, orphans = \"worked\", limit = { burst = 5 }"),
        server("capacity = 150, orphans = \"worked\", price = { input = 1 }"),
        server("capacity = 150, orphans = \"worked\", outages = \"often\""),
        server(
            "capacity = 150, orphans = \"worked\", outages = [], renewal = { up = \"1s\", down = \"1s\", how = \"503\" }",
        ),
        server(
            "capacity = 150, orphans = \"worked\", renewal = { up = \"0s\", down = \"0s\", how = \"503\" }",
        ),
        server(
            "capacity = 150, orphans = \"worked\", outages = { events = \"nowhere.csv\", service = \"x\", how = \"503\" }",
        ),
        outage("{ at = \"1s\", how = \"503\" }"),
        outage("{ at = \"2m\", for = \"1s\", how = \"503\" }"),
        outage("{ at = \"1s\", for = \"1s\", how = \"500\" }"),
        outage("{ at = \"1s\", for = \"1s\", how = \"slow\" }"),
        outage("{ at = \"1s\", for = \"1s\", how = \"503\", retry_after = \"1s\" }"),
        outage("{ at = \"1s\", for = \"5s\", how = \"503\" }, { at = \"2s\", for = \"5s\", how = \"hang\" }"),
        with(
            "server",
            "server = [{ capacity = 150, orphans = \"worked\" }, { capacity = 150, orphans = \"worked\" }]",
        ),
        RIGHT.replace("[[policy]]", "[policy]"),
        RIGHT.split("[[policy]]").next().unwrap_or_default().to_owned(),
        with("name", ""),
        with("fleet", ""),
        with("fleet", "fleet = \"client\""),
        with("fleet", "fleet = { process = 0 }"),
        policy("retrys = 3"),
        policy("retries = 101"),
        policy("naive = \"imediate\""),
        policy("naive = \"immediate\""),
        policy("naive = \"fixed\"\nretries = 3"),
        policy("naive = \"none\"\nbudget = \"off\""),
        policy("naive = \"exponential\"\nretries = 3\nbackoff.jitter = \"full\""),
        policy("wait = \"1s\""),
        policy("[[policy]]\nname = \"default\"\nfleet = \"one\""),
        policy("[[layer]]\ntold = \"nothing\""),
        policy("[layers]\ncount = 2\nprocesses = 1\ntold = \"all\""),
        policy(
            "[layers]\ncount = 2\nprocesses = 1\ntold = \"nothing\"\n[[layer]]\nprocesses = 1\ntold = \"nothing\"",
        ),
        policy("assert = \"amplification < 1.2\""),
        policy("assert = [\"amplifcation < 1.2\"]"),
        policy("assert = [\"amplification < lots\"]"),
        policy("assert = [\"recovery < 10s\"]"),
        outage("{ at = \"50s\", for = \"6s\", how = \"503\" }").replace(
            "fleet = \"one\"",
            "fleet = \"one\"\nassert = [\"recovery < 10s\"]",
        ),
        load("rate = 5, bursts = [{ at = \"1m\", for = \"5s\", factor = 9 }]"),
        outage("{ at = \"1s\", for = \"1s\", how = \"503\", share = 0 }"),
        server(
            "capacity = 150, orphans = \"worked\", renewal = { up = \"1ms\", down = \"1ms\", how = \"503\" }",
        )
        .replace("horizon = \"1m\"", "horizon = \"1h\""),
        server("capacity = 150, orphans = \"worked\", price = { input = 0.42, output = 0 }")
            .replace("load = {", "load = { tokens = { input = 0, output = 5 },"),
        policy("assert = [\"cost_usd < 5\"]"),
        policy("assert = [\"success_rate <= 100%\", \"amplification >= 0\", \"p_collapse >= 0\"]"),
        server("capacity = 150, orphans = \"worked\", price = { input = 0.42, output = 1.1 }"),
        server("capacity = 150, orphans = \"worked\", limit = { rpm = 60, tpm = 1000 }"),
    ];
    assert!(files.len() >= 40);
    let mut told = String::new();
    for file in files {
        let errors = Simulation::parse("a.toml", &file).expect_err(&file);
        told.push_str(&format!("{errors}\n\n"));
    }
    expect_test::expect_file!["errors.txt"].assert_eq(&told);
    expect![[r#"a.toml:1:1: this simulation has no end"#]].assert_eq(
        told.lines()
            .find(|line| line.contains("no end"))
            .unwrap_or_default(),
    );
}

#[test]
fn a_trace_that_never_ends_or_is_cut_off_says_so() {
    // Could break by rounds of a nanosecond that fill the memory, by a `loop` that does nothing, or by calls that are left
    // out and that nobody hears of.
    let path = std::env::temp_dir().join(format!("seawall-loop-{}.jsonl", std::process::id()));
    let read = |calls: &str, keys: &str| {
        std::fs::write(&path, calls).expect("a file");
        let shown = path.display();
        let line = format!("load = {{ trace = '{shown}', format = \"jsonl\"{keys} }}");
        let read = Simulation::parse("a.toml", &with("load", &line));
        read.map(|simulation| simulation.notes)
            .map_err(|errors| errors.to_string())
    };
    let (two, one) = ("{\"t\": 0}\n{\"t\": 1e-9}\n", "{\"t\": 5}\n{\"t\": 5}\n");
    for (calls, keys, told) in [
        (two, ", loop = true", "are more than 10000000 calls"),
        (
            two,
            ", loop = true, scale_rate = 1e6",
            "all calls of this trace are at one time",
        ),
        (one, ", loop = true", "all calls of this trace are at one time"),
    ] {
        let why = read(calls, keys).expect_err(keys);
        assert!(why.contains(told) && why.contains("expected no `loop`"), "{why}");
    }
    let late = read("{\"t\": 0}\n{\"t\": 59}\n{\"t\": 60}\n", "").expect("a right file");
    assert!(
        late[0].contains("1 of its 3 calls are after the horizon, 1m"),
        "{late:?}"
    );
    assert_eq!(read("{\"t\": 0}\n{\"t\": 59}\n", ""), Ok(Vec::new()));
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn what_no_report_can_show_is_no_name() {
    // Could break by a name that moves a cursor, turns the letters of a table round, or ends the comment of a file.
    let named = |name: &str| RIGHT.replace("name = \"default\"", &format!("name = \"{name}\""));
    for name in [
        "",
        " \\t",
        "\\u001b[31m",
        "a\\nb",
        "\\u202eb",
        "\\u009b2J",
        "\\u200b",
        "a\\u0000",
    ] {
        let policy = Simulation::parse("a.toml", &named(name))
            .expect_err(name)
            .to_string();
        let file = Simulation::parse("a.toml", &format!("name = \"{name}\"\n{RIGHT}"))
            .expect_err(name)
            .to_string();
        for error in [policy, file] {
            assert!(error.contains("expected a name that people can read"), "{error}");
            assert!(
                !error.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{200b}']),
                "{error}"
            );
        }
    }
    for name in ["<script>", "a & b", "\u{1f600}", "na\u{ef}ve"] {
        assert_eq!(parse(&named(name)).study.contenders[0].name, name);
    }
    let stem = Simulation::parse("\u{1b}[31m.toml", RIGHT).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(stem.study.name, "\u{fffd}[31m");
}

/// A file of the repository.
fn of_repository(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(path)).expect("the file is there")
}

#[test]
fn the_reference_has_a_row_for_every_key_and_its_files_are_read() {
    // Could break by a key that nobody finds, or one that is told and refused.
    let page = of_repository("docs/reference/simulation.md");
    let rows = |heading: &str| -> Vec<String> {
        let (_, section) = page.split_once(&format!("\n{heading}\n")).expect(heading);
        let section = section.split("\n#").next().unwrap_or_default();
        let cells = section
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
        let mut keys: Vec<String> = cells
            .flat_map(|cell| {
                cell.split(' ')
                    .map(|key| key.trim_matches('`').to_owned())
                    .collect::<Vec<_>>()
            })
            .collect();
        keys.sort();
        keys
    };
    let known = |keys: &[&[&str]]| -> Vec<String> {
        let mut keys: Vec<String> = keys.concat().into_iter().map(str::to_owned).collect();
        keys.sort();
        keys.dedup();
        keys
    };
    assert_eq!(rows("## The file"), known(&[&TOP_KEYS]));
    assert_eq!(rows("## `[load]`"), known(&load::KEYS));
    assert_eq!(rows("## `[server]`"), known(&[&server::SERVER_KEYS]));
    assert_eq!(rows("### Outages"), ["at", "for", "how", "share"]);
    assert_eq!(rows("## `[[policy]]`"), known(&[&policy::OUR_KEYS]));
    assert_eq!(rows("## `[[layer]]` and `[layers]`"), known(&layers::KEYS));
    let mut metrics: Vec<String> = Assert::metrics().map(str::to_owned).collect();
    metrics.sort();
    assert_eq!(rows("## Asserts"), metrics);
    let blocks: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .collect();
    assert_eq!(blocks.len(), 2);
    blocks.into_iter().for_each(|block| drop(parse(block)));
    for name in [
        "stall", "budget", "limited", "burst", "headroom", "shards", "backoff",
    ] {
        let path = format!("examples/simulations/{name}.toml");
        assert!(!parse(&of_repository(&path)).asserts.is_empty(), "{path}");
    }
    let weather = parse(&of_repository("examples/simulations/weather.toml"));
    assert!(weather.study.model.servers[0].renewal.is_some());
}

#[test]
fn every_published_experiment_has_its_section_with_its_source_and_its_seeds() {
    // Could break by an experiment that nobody finds, or a page that names another source than the program does.
    let page = of_repository("docs/reference/presets.md");
    let headings: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'))
        .collect();
    let names: Vec<&str> = preset::ALL.iter().map(|preset| preset.name).collect();
    assert_eq!(headings, names);
    for preset in preset::ALL {
        let name = preset.name;
        let row = format!("| [`{name}`](#{name}) | {} | ", preset.seeds);
        assert!(page.contains(&row), "{row}");
        let (_, section) = page.split_once(&format!("\n## `{name}`\n\n")).expect(name);
        let said = section.lines().next().unwrap_or_default().to_lowercase();
        assert_eq!(said, format!("{}.", preset.source.to_lowercase()));
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        // Could break by a span that is cut inside a letter.
        let _ = Simulation::from_bytes("a.toml", &bytes);
    }

    #[test]
    fn no_file_with_a_piece_missing_makes_the_reader_panic(from in 0_usize..300, length in 0_usize..40) {
        // Could break by a key that is taken for granted.
        let text = format!("{RIGHT}naive = \"fixed\"\nwait = \"1s\"\nretries = 2\nassert = [\"p99 < 2s\"]\n");
        let end = (from + length).min(text.len());
        let cut = text.get(..from).zip(text.get(end..)).map(|(head, tail)| format!("{head}{tail}"));
        if let Some(cut) = cut {
            let _ = Simulation::parse("a.toml", &cut);
        }
    }
}
