use super::*;
use http::HeaderValue;

const FILE: &str = r#"
    policy = { retries = 3 }
    [[upstream]]
    name = "main"
    base_url = "http://127.0.0.1:9/v1"
    provider = "openai"
    credential = { env = "MAIN" }
    quota = "team"
    dedup = "store"
    [[upstream]]
    name = "spare"
    base_url = "http://127.0.0.1:9/other/v1"
    credential = { env = "SPARE" }
    parent = "all"
    policy = { deadline = "20s" }
    [[model]]
    name = "big-1"
    upstream = "main"
    input = 3.0
    output = 15.0
    window = 64000
    [[route]]
    match = { path = "/v1/chat/*", model = "big-*", header = { x-team = "blue" } }
    to = ["main/big-1"]
    [[route]]
    match = { path = "/v1/chat/*", task = ["summarize", "classify"] }
    to = ["spare/small-1", "main/big-1"]
    order = "cheapest"
    tries = 1
    patience = "2s"
    fallbacks = 1
    max_price = 20.0
    replay = "unsafe"
    [[route]]
    to = ["spare"]
"#;

fn config(text: &str) -> Config {
    Config::parse("seawall.toml", text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn with_keys(text: &str) -> Result<Routes, RoutesError> {
    Routes::with(&config(text), |first| first.seed(1), |_| Ok("sk-1".to_owned()))
}

/// Which of the file's routes takes the call, from 0.
fn nth(routes: &Routes, asked: &Asked<'_>) -> Option<usize> {
    let route = routes.route_for(asked)?;
    routes
        .routes
        .iter()
        .position(|(_, other)| std::ptr::eq(other, route))
}

#[test]
fn a_file_is_live_as_it_is_written() {
    // Could break if a key were read and not handed on: the file would say one thing, and calls do another.
    let routes = with_keys(FILE).unwrap();
    assert!(routes.missing_keys().is_empty());
    let [main, spare] = ["main", "spare"].map(|name| routes.upstream(name).unwrap());
    assert!(main.is_beside(spare) && main.has_credential() && spare.has_credential());
    assert_eq!(main.call_policy().retries(), 3);
    assert_eq!(spare.call_policy().deadline().to_string(), "20s");
    let (_, second) = &routes.routes[1];
    assert_eq!(
        format!("{second:?}"),
        "Route { to: [spare/small-1, main/big-1], .. }"
    );
    let big = &second.inner.candidates[1];
    assert_eq!(
        (big.window, big.price),
        (64_000, Some(Price::micro_usd(3_000_000, 15_000_000)))
    );
    assert_eq!(second.inner.tries, Some(1));
    assert_eq!(second.inner.fallbacks, Some(1));
    assert_eq!(second.inner.patience.unwrap().to_string(), "2s");
    assert_eq!(second.inner.replay.unwrap().name(), "unsafe");
    // Both have a gate, and so have the quota, the parent and three models at them.
    assert_eq!(main.hub().with(|engine, _| engine.gates_alive()), 2 + 2 + 2);
}

#[test]
fn the_first_route_that_matches_takes_the_call() {
    // Could break if one condition that is met stood for all, or if one that is not written were asked for.
    let routes = with_keys(FILE).unwrap();
    let mut headers = HeaderMap::new();
    headers.append("x-team", HeaderValue::from_static("red"));
    headers.append("x-team", HeaderValue::from_static("blue"));
    let chat = Asked::path("/v1/chat/completions?x=1");
    for (asked, expected) in [
        (chat.model("big-2").headers(&headers), 0),
        (chat.model("small").headers(&headers), 2),
        (chat.model("big-2"), 2),
        (chat.task("classify"), 1),
        (chat.task("classify").model("big-2").headers(&headers), 0),
        (chat.task("translate"), 2),
        (Asked::path("/v1/embeddings").task("classify"), 2),
    ] {
        assert_eq!(nth(&routes, &asked), Some(expected), "{asked:?}");
    }
}

#[test]
fn a_star_stands_for_anything() {
    // Could break at an edge: an empty part, two stars, a part that overlaps the end.
    for (pattern, text, expected) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "", true),
        ("a*", "a", true),
        ("*a", "ba", true),
        ("a*a", "a", false),
        ("a*a", "aa", true),
        ("a*b*c", "a-b-b-c", true),
        ("a*b*c", "ac", false),
        ("**", "x", true),
        ("é*", "éa", true),
    ] {
        assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
    }
}

#[test]
fn a_candidate_without_its_key_is_none_and_is_named() {
    // Could break if a missing key stopped the whole file, or sent calls there without one.
    let keys = |credential: &config::Credential| match credential {
        config::Credential::Env(name) if name == "SPARE" => Err("SPARE is not set".to_owned()),
        _ => Ok("sk-1".to_owned()),
    };
    let routes = Routes::with(&config(FILE), |first| first.seed(1), keys).unwrap();
    let told: Vec<String> = routes.missing_keys().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["upstream spare has no key: SPARE is not set"]);
    let (_, second) = &routes.routes[1];
    assert_eq!(second.inner.stops().map(|stop| stop.nth).collect::<Vec<_>>(), [1]);
    // A key that no header can carry is none either, and is not repeated.
    let routes = Routes::with(&config(FILE), |first| first, |_| Ok("sk\nSECRET".to_owned())).unwrap();
    assert_eq!(routes.missing_keys().len(), 2);
    assert!(!format!("{:?}", routes.missing_keys()).contains("SECRET"));
}

#[test]
fn what_nothing_obeys_is_refused_with_its_place() {
    // Could break if a bound on money were read and not held.
    let text = FILE.replace("tries = 1", "money_max = { usd = 5.0, per = \"1d\" }");
    let told = with_keys(&text).unwrap_err().to_string();
    assert!(told.starts_with("seawall.toml:29:"), "{told}");
    assert!(
        told.contains("nothing obeys a route's `money_max` yet; take it out"),
        "{told}"
    );
    for (key, value) in [("cache", "{ ttl = \"10m\" }"), ("fit", "\"keep-newest\"")] {
        let text = FILE.replace("tries = 1", &format!("{key} = {value}"));
        assert!(
            matches!(with_keys(&text), Err(RoutesError::NotObeyed(_))),
            "{key}"
        );
    }
}

#[test]
fn a_key_is_read_where_the_file_says() {
    // Could break if a line break at the end of a file were sent, or an empty file taken for a key.
    let folder = std::env::temp_dir().join(format!("seawall-routes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let of = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        read_key(&config::Credential::File(path.to_str().unwrap().to_owned()))
    };
    assert_eq!(of("whole", "sk-1\n").unwrap(), "sk-1");
    assert!(of("empty", " \n").unwrap_err().ends_with("is empty"));
    let none = config::Credential::Env("SEAWALL_TEST_NO_SUCH_KEY".to_owned());
    assert!(read_key(&none).unwrap_err().contains("is not set"));
    std::fs::remove_dir_all(&folder).unwrap();
}
