mod chance;

use super::*;
use expect_test::expect;
use proptest::prelude::*;
use seawall_core::rng::Rng;

fn secs(secs: u64) -> Instant {
    Instant::START.after(Duration::from_secs(secs))
}

/// What a script answers at these times, in seconds.
fn played(script: &str, times: &[u64]) -> String {
    let rule = Rule::parse(&format!("GET /x = {script}")).expect("the script is served");
    let mut plan = Plan::new(vec![rule], 0);
    let words = times
        .iter()
        .map(|at| word(&plan.turn(secs(*at), 0, b"").unwrap()));
    words.collect::<Vec<_>>().join(" ")
}

fn word(turn: &Turn) -> String {
    match (turn.action(), turn.choice) {
        (Some(action), _) => action.deed.name(),
        (None, Choice::Stop) => "stop".to_owned(),
        (None, _) => "plain".to_owned(),
    }
}

#[test]
fn steps_are_met_in_order_and_the_last_repeats() {
    // Could break by one in either direction: a count that includes the step before it.
    assert_eq!(played("2x 503, 429, 200", &[0; 6]), "503 503 429 200 200 200");
    assert_eq!(played("2x 503, 200, stop", &[0; 5]), "503 503 200 stop stop");
    assert_eq!(played("3x 503", &[0; 5]), "503 503 503 503 503");
}

#[test]
fn a_step_with_a_time_takes_over_when_it_comes() {
    // Could break if steps that were never met held up the clock.
    assert_eq!(
        played("200, at 10s for 5s 503, 200", &[100, 109, 110, 114, 115]),
        "200 200 503 503 200"
    );
    assert_eq!(played("2x 500, 429, at 10s 503", &[0, 12]), "500 503");
    assert_eq!(played("2x 500, at 10s 503", &[0, 1, 2, 10]), "500 500 plain 503");
    assert_eq!(played("at 10s for 5s 503, 200", &[0, 10, 15]), "plain 503 200");
    assert_eq!(
        played(
            "200, at 10s for 5s 503, at 20s for 5s 500, 200",
            &[0, 12, 17, 22, 27]
        ),
        "200 503 plain 500 200"
    );
    assert_eq!(
        played("for 5s 503, for 5s 500, 200", &[0, 4, 5, 9, 10]),
        "503 503 500 500 200"
    );
    assert_eq!(played("for 5s 503, for 5s 500, 200", &[0, 30]), "503 200");
    assert_eq!(played("2x for 5s 503, 200", &[0, 1, 2]), "503 503 200");
    assert_eq!(
        played("429, for 5s 503, 200", &[0, 100, 104, 105]),
        "429 503 503 200"
    );
    assert_eq!(played("for 5s 503, stop", &[0, 4, 5]), "503 503 stop");
}

#[test]
fn a_clock_that_steps_back_moves_nothing_back() {
    // Could break if a position trusted the time it is told.
    assert_eq!(played("for 5s 503, 200", &[10, 0, 15, 3]), "503 503 200 200");
}

#[test]
fn positions_of_different_state_values_are_apart() {
    // Could break if the value were not part of the key.
    let mut rule = Rule::parse("GET /x = 503, 200").unwrap();
    rule.state = State::Header("x-test-id".to_owned());
    let mut plan = Plan::new(vec![rule], 0);
    let mut meet = |value: &[u8]| word(&plan.turn(secs(0), 0, value).unwrap());
    let met: Vec<_> = [&b"a"[..], b"b", b"a", b"", b"b"]
        .into_iter()
        .map(&mut meet)
        .collect();
    assert_eq!(met, ["503", "503", "200", "503", "200"]);
}

#[test]
fn a_plan_that_is_full_says_so_and_keeps_what_it_has() {
    // Could break if an old value were forgotten in silence: its script would begin again.
    let mut plan = Plan::new(vec![Rule::parse("GET /x = 503, 200").unwrap()], 0);
    let big = vec![b'a'; STATE_BYTES_MAX / 2];
    let bigger = vec![b'b'; STATE_BYTES_MAX / 2];
    assert!(plan.turn(secs(0), 0, &big).is_ok());
    assert_eq!(plan.turn(secs(0), 0, &bigger), Err(StateFull));
    assert_eq!(word(&plan.turn(secs(0), 0, &big).unwrap()), "200");
}

#[test]
fn a_route_that_is_none_is_pointed_at() {
    // Could break if a route without a script were one that answers 200.
    let texts = [
        "",
        "POST",
        "POST /x",
        "POST /x 503",
        "POST = 503",
        "/x = 503",
        "POST x = 503",
        "POST /x =",
        "POST /a*b = 503",
        "POST /x?y = 503",
        "POST /x = 503, rest",
    ];
    let errors = texts
        .iter()
        .map(|text| format!("{}\n", Rule::parse(text).expect_err(text)));
    expect![[r#"
        1:1: a route has no path
        1 | 
          | ^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:1: a route has no path
        1 | POST
          | ^^^^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:8: a route has no script
        1 | POST /x
          |        ^
          = expected `METHOD PATH = SCRIPT`
        1:9: a route has no script
        1 | POST /x 503
          |         ^^^
          = expected `METHOD PATH = SCRIPT`
        1:6: a route has no path
        1 | POST = 503
          |      ^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:4: a route has no path
        1 | /x = 503
          |    ^
          = expected `METHOD PATH`, as in `POST /v1/payments` or `* /v1/*`
        1:6: `x` is no path
        1 | POST x = 503
          |      ^
          = expected a path that begins with `/`
        1:10: a step is missing
        1 | POST /x =
          |          ^
          = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
        1:8: `*` stands at the end of a path
        1 | POST /a*b = 503
          |        ^
        1:8: a pattern has no query; every query matches
        1 | POST /x?y = 503
          |        ^^
        1:16: `rest` is no action
        1 | POST /x = 503, rest
          |                ^^^^ did you mean `reset`?
          = expected a status such as 503, or one of reset, close, hang, truncate, error-in-200, stream, apply, drip, garbage, wrong-length, bad-chunk, half-close, slow-headers, bad-gzip, goaway, rst-stream
    "#]].assert_eq(&errors.collect::<String>());
}

#[test]
fn the_first_matching_rule_is_taken() {
    // Could break if a wildcard were compared as text, or a query as part of the path.
    let rules = ["POST /v1/a = 200", "* /v1/* = 200", "GET /* = 200"];
    let plan = Plan::new(rules.iter().map(|rule| Rule::parse(rule).unwrap()).collect(), 0);
    for (method, path, rule) in [
        ("POST", "/v1/a", Some(0)),
        ("GET", "/v1/a", Some(1)),
        ("DELETE", "/v1/", Some(1)),
        ("GET", "/v1", Some(2)),
        ("POST", "/v2", None),
        ("post", "/v1/a", Some(1)),
    ] {
        assert_eq!(plan.matching(method, path), rule, "{method} {path}");
    }
}

#[test]
fn the_shares_of_a_mix_are_what_it_says() {
    // Could break if a draw fell on its neighbour. 20 000 draws: 4 sigma of a share of 2 % is 0.4 %.
    let mut plan = Plan::new(vec![Profile::Flaky.rule()], 7);
    let mut met = BTreeMap::new();
    for _ in 0..20_000 {
        *met.entry(word(&plan.turn(secs(0), 0, b"").unwrap()))
            .or_insert(0_i64) += 1;
    }
    for (name, per_mille) in [
        ("200", 920),
        ("503", 20),
        ("429", 20),
        ("500", 10),
        ("reset", 10),
        ("truncate", 10),
        ("error-in-200", 10),
    ] {
        let expected: i64 = per_mille * 20;
        let slack = if name == "200" { 160 } else { 80 };
        assert!(
            (met[name] - expected).abs() <= slack,
            "{name}: {} of 20000, expected {expected}",
            met[name]
        );
    }
    assert_eq!(met.len(), 7);
}

#[test]
fn a_flaky_stream_breaks_before_its_first_content_or_not_at_all() {
    // Could break if a stream met the faults of whole answers: cut in its middle, nobody may send it again, and a run
    // against the profile would lose rows that no policy could have saved.
    let mut plan = Plan::new(vec![Profile::Flaky.rule()], 7);
    let mut met = BTreeMap::new();
    for _ in 0..20_000 {
        let turn = plan.turn_as(secs(0), 0, b"", Wanted::Stream).unwrap();
        let action = turn.action().expect("a mix has an action always");
        let before_content = match &action.deed {
            Deed::Status(_) | Deed::ErrorIn200 | Deed::Reset(crate::script::After::Nothing) => true,
            Deed::Stream(stream) => stream.events == Some(0),
            _ => false,
        };
        assert!(before_content, "{action}");
        *met.entry(action.to_string()).or_insert(0_u64) += 1;
    }
    for part in ["stream events=0 then=cut", "stream events=0 then=no-done"] {
        assert!((60..=140).contains(&met[part]), "{part}: {} of 20000", met[part]);
    }
    assert_eq!(met.len(), 8);
    // The shares that both have are met by the same attempts: what a client asks for does not move another's luck.
    let mut whole = Plan::new(vec![Profile::Flaky.rule()], 7);
    let mut stream = whole.clone();
    for _ in 0..1_000 {
        let [one, two] = [Wanted::Whole, Wanted::Stream].map(|wanted| match wanted {
            Wanted::Whole => whole.turn(secs(0), 0, b"").unwrap(),
            Wanted::Stream => stream.turn_as(secs(0), 0, b"", wanted).unwrap(),
        });
        let is_200 = |turn: &Turn| turn.action().unwrap().to_string() == "200";
        assert_eq!((is_200(&one), one.latency), (is_200(&two), two.latency));
    }
}

#[test]
fn a_log_normal_latency_has_the_percentiles_it_was_told() {
    // Could break if sigma were of the wrong base or the tail were clipped.
    let latency = Latency::LogNormal {
        p50: Duration::from_millis(60),
        p99: Duration::from_millis(600),
    };
    let mut drawn: Vec<u64> = (0..20_000)
        .map(|n| latency.draw(&mut Rng::new(1, n)).as_nanos() / 1_000)
        .collect();
    drawn.sort_unstable();
    let (p50, p99) = (drawn[10_000], drawn[19_800]);
    assert!((57_000..63_000).contains(&p50), "p50 {p50} us");
    assert!((520_000..690_000).contains(&p99), "p99 {p99} us");
}

#[test]
fn every_profile_goes_by_its_name_and_no_other() {
    // Could break if a profile of the formats were left out, or a typing error were `steady`.
    for profile in Profile::ALL {
        assert_eq!(profile.name().parse::<Profile>().unwrap(), profile);
    }
    assert_eq!(
        Profile::ALL.map(Profile::name),
        ["steady", "flaky", "ratelimited", "outage", "storm"]
    );
    let error = "flakey".parse::<Profile>().unwrap_err();
    assert!(error.to_string().contains("did you mean `flaky`?"), "{error}");
}

#[test]
fn a_rule_that_stays_keeps_how_far_it_has_come_when_others_are_replaced() {
    // Could break if an edit began every script again, or moved a rule's chances to another rule.
    let rule = |text: &str| Rule::parse(text).unwrap();
    let mut plan = Plan::new(vec![rule("GET /a = 2x 503, 200"), rule("GET /b = 503, 200")], 0);
    assert_eq!(word(&plan.turn(secs(0), 1, b"").unwrap()), "503");
    plan.replace(vec![rule("GET /b = 503, 200"), rule("GET /a = 429")]);
    assert_eq!(word(&plan.turn(secs(0), 0, b"").unwrap()), "200");
    assert_eq!(word(&plan.turn(secs(0), 1, b"").unwrap()), "429");
    plan.reset();
    assert_eq!(word(&plan.turn(secs(0), 0, b"").unwrap()), "503");
}

proptest! {
    #[test]
    fn one_seed_is_one_sequence_however_rules_interleave(seed: u64, order in proptest::collection::vec(0..2_usize, 1..60)) {
        // Could break if rules shared a stream: another client's attempt would change this one's fault.
        let plan = Plan::new(vec![Profile::Flaky.rule(), Profile::Flaky.rule()], seed);
        let alone = |rule: usize, count: usize| {
            let mut plan = plan.clone();
            (0..count).map(|_| plan.turn(secs(0), rule, b"").unwrap()).collect::<Vec<_>>()
        };
        let mut plan = plan.clone();
        let mut met = [Vec::new(), Vec::new()];
        for rule in order {
            met[rule].push(plan.turn(secs(1), rule, b"").unwrap());
        }
        for (rule, met) in met.into_iter().enumerate() {
            prop_assert_eq!(alone(rule, met.len()), met);
        }
    }

    #[test]
    fn a_weight_of_zero_is_never_drawn(seed: u64, weights in proptest::collection::vec(0..3_u64, 2..6)) {
        // Could break if the comparison were "not above" where it should be "below".
        let action = |status: u64| Action::parse(&format!("{}", 200 + status)).unwrap();
        let parts: Vec<_> = weights.iter().enumerate().map(|(n, weight)| (action(n as u64), *weight)).collect();
        prop_assert_eq!(Mix::new(parts.clone()).is_none(), weights.iter().all(|weight| *weight == 0));
        if let Some(mix) = Mix::new(parts.clone()) {
            for n in 0..200 {
                let drawn = mix.draw(&mut Rng::new(seed, n));
                prop_assert!(parts[drawn].1 > 0);
            }
        }
    }
}

#[test]
fn a_path_speaks_the_dialect_that_the_rest_of_seawall_infers_from_it() {
    // Could break: a mock that answers in one dialect what the engine then reads in another.
    use seawall_core::profile::Provider;
    let paths = [
        ("/v1/chat/completions", "openai"),
        ("/v1/responses", "openai"),
        ("/v1/responses/resp_1", "openai"),
        ("/v1/completions", "openai"),
        ("/v1/embeddings", "openai"),
        ("/v1/messages", "anthropic"),
        ("/v1/messages/count_tokens", "anthropic"),
        ("/v1beta/models/m:generateContent", "gemini"),
        (
            "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
            "gemini",
        ),
        ("/v1beta/models/m:embedContent", "gemini"),
        ("/v1beta/openai/chat/completions", "openai"),
        ("/openai/deployments/big/chat/completions", "azure"),
        ("/openai/v1/chat/completions", "openai"),
        ("/v1/payment_intents", "stripe"),
        ("/v1/charges/ch_1/capture", "stripe"),
        ("/v1/payments", "generic"),
        ("/v1/customers", "generic"),
        ("/repos/a/b/issues", "generic"),
        ("/", "generic"),
        // No calls for inference, which the rest of seawall need not know.
        ("/v1beta/models", "gemini"),
        ("/v1/models", "openai"),
        ("/v1/models/m", "openai"),
        ("/api/embeddings", "openai"),
    ];
    for (path, expected) in paths {
        assert_eq!(Dialect::ByPath.at(path).name(), expected, "{path}");
        let inferred = Provider::inferred(None, path);
        assert!(
            inferred.name() == expected || inferred == Provider::Generic,
            "{path}: {}",
            inferred.name()
        );
        for dialect in Dialect::NAMED {
            assert_eq!(dialect.at(path), dialect);
        }
    }
}
