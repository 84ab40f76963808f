use super::*;

#[test]
fn a_providers_key_is_for_its_own_hosts() {
    // A host that only looks like the provider's, or that speaks its dialect, would get the key of whoever was talked
    // into typing it.
    for (host, variable) in [
        ("team.openai.azure.com", Some("AZURE_OPENAI_API_KEY")),
        ("team.cognitiveservices.azure.com", Some("AZURE_OPENAI_API_KEY")),
        ("api.groq.com", Some("GROQ_API_KEY")),
        ("API.GitHub.com", Some("GITHUB_TOKEN")),
        ("azure.com", None),
        ("openai.azure.com.evil.example", None),
        ("api.groq.com.evil.example", None),
        ("evilgroq.com", None),
        ("evil-github.com", None),
        ("somebody.github.io", None),
        ("127.0.0.1", None),
        ("localhost", None),
        ("", None),
    ] {
        assert_eq!(usual_variable(host), variable, "{host}");
    }
}

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn args(more: &[&str]) -> Args {
    let line = ["batch", "in.jsonl", "-o", "out.jsonl"].iter().chain(more);
    <Line as clap::Parser>::try_parse_from(line).unwrap().args
}

fn built(more: &[&str], connections_max: u32) -> (Policy, Option<String>) {
    let most = NonZeroU32::new(connections_max).unwrap();
    policy(&args(more), None, most).unwrap_or_else(|_| panic!("{more:?}"))
}

#[test]
fn limits_on_the_command_line_are_the_policys() {
    // Could break if a flag were read and forgotten, or took the place of a limit that a file states and it does not.
    let limits = |more: &[&str]| {
        let limits = built(more, 5_000).0.gate.limits();
        let rates = limits.rates();
        (
            limits.concurrency(),
            rates.requests_per_minute(),
            rates.tokens_per_minute(),
        )
    };
    let preset = Concurrency::AtMost(64);
    assert_eq!(limits(&[]), (preset, None, None));
    assert_eq!(limits(&["--rpm", "60"]), (preset, Some(60), None));
    assert_eq!(
        limits(&["--tpm", "10000", "--concurrency", "7"]),
        (Concurrency::AtMost(7), None, Some(10_000))
    );
    assert_eq!(limits(&["--concurrency", "auto"]).0, Concurrency::Auto);
    for bad in [
        ["--rpm", "0"],
        ["--tpm", "many"],
        ["--concurrency", "0"],
        ["--concurrency", "Auto"],
    ] {
        let line = ["batch", "in.jsonl", "-o", "out.jsonl"].iter().chain(&bad);
        let parsed = <Line as clap::Parser>::try_parse_from(line);
        assert!(parsed.is_err(), "{bad:?}");
    }
    let error = policy(&args(&["--rpm", "2000000000"]), None, NonZeroU32::MIN);
    let Err(Failure::Usage(text)) = error else {
        panic!("a limit that cannot be was taken")
    };
    assert!(text.starts_with("--rpm: limits.requests_per_minute"), "{text}");
}

#[test]
fn what_the_system_lets_be_open_bounds_what_is_found_out_too() {
    // Could break if `auto` grew until the system refuses connections: it would look like a server that is down.
    let (policy, note) = built(&["--concurrency", "auto"], 200);
    assert_eq!(policy.gate.limits().concurrency(), Concurrency::AtMost(200));
    assert!(note.unwrap().contains("at most 200"));
}

#[test]
fn a_line_is_no_longer_than_its_rows_have_time_for() {
    // Could break if sixty rows stood in line at one a minute, each with an hour: the last would come too late.
    let line = |more: &[&str]| line_max(&built(more, 5_000).0);
    assert_eq!(line(&[]), 64);
    assert_eq!(line(&["--concurrency", "500"]), 500);
    assert_eq!(line(&["--rpm", "60"]), 64, "an hour for each");
    assert_eq!(line(&["--rpm", "1"]), 30);
    assert_eq!(
        line(&["--rpm", "10", "--policy", "interactive"]),
        2,
        "half a minute for each"
    );
    assert_eq!(line(&["--rpm", "1", "--policy", "interactive"]), 1);
}
