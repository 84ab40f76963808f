//! Advice about routes and upstreams.

use super::*;

const TWO: &str = r#"
[[upstream]]
name = "main"
base_url = "https://main.example/v1"
provider = "openai"
[[upstream]]
name = "spare"
base_url = "https://spare.example/v1"
provider = "openai"
"#;

fn with(rest: &str) -> String {
    format!("{TWO}{rest}")
}

#[test]
fn candidates_that_fail_together_are_told() {
    // A fallback inside one quota is thrown away by the first 429.
    let shared = r#"
[[upstream]]
name = "a"
base_url = "https://a.example"
quota = "team"
[[upstream]]
name = "b"
base_url = "https://b.example"
quota = "team"
[[route]]
to = ["a", "b/small", "a/small"]
"#;
    warns(
        shared,
        &none(),
        expect![[r#"
        11:7 quota-shared: all 3 candidates share the quota `team`: when one is throttled, none may be sent to, and there is nowhere to go; add one with a quota of its own
            candidates=3
    "#]],
    );
    // One quota of its own is somewhere to go.
    warns(
        &shared.replacen("quota = \"team\"", "quota = \"other\"", 1),
        &none(),
        expect![[""]],
    );
}

#[test]
fn one_account_in_several_upstreams_is_told() {
    // Each of them learns of the same limit by a 429 of its own.
    let upstream = |name: &str, rest: &str| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nbase_url = \"https://api.example.com/{name}\"\n\
             credential = {{ env = \"KEY\" }}\n{rest}\n"
        )
    };
    let three = [
        upstream("a", ""),
        upstream("b", ""),
        upstream("c", "quota = \"team\""),
    ]
    .concat();
    warns(
        &three,
        &none(),
        expect![[r#"
        4:14 quotas-apart: 3 upstreams use one credential at api.example.com: if that is one account with one rate limit, each of the 3 has to run into it by itself; the same `quota` lets one cool-down hold for all
            upstreams=3
    "#]],
    );
    let one = |name| upstream(name, "quota = \"team\"");
    warns(&[one("a"), one("b")].concat(), &none(), expect![[""]]);
}

#[test]
fn a_fallback_that_is_too_small_is_told() {
    // The outage is found out by those with the longest prompts.
    let models = |of_spare: u64| {
        with(&format!(
            "[[model]]\nname = \"big\"\nupstream = \"main\"\nwindow = 128000\n\
             [[model]]\nname = \"small\"\nupstream = \"spare\"\nwindow = {of_spare}\n\
             [[route]]\nto = [\"main/big\", \"spare/small\"]\n"
        ))
    };
    warns(
        &models(64_000),
        &none(),
        expect![[r#"
        19:19 fallback-window-smaller: prompts above 64000 tokens cannot fall back to spare/small: main/big takes 128000, so an outage there is final for them
            window=128000 window_of_fallback=64000
    "#]],
    );
    warns(&models(128_000), &none(), expect![[""]]);
}

#[test]
fn a_candidate_above_the_price_is_told() {
    // It stands in the file and is never sent to.
    let file = |max: &str| {
        with(&format!(
            "[[model]]\nname = \"big\"\nupstream = \"main\"\noutput = 12.5\n\
             [[model]]\nname = \"small\"\nupstream = \"spare\"\noutput = 2\n\
             [[route]]\nto = [\"main/big\", \"spare/small\"]\nmax_price = {max}\n"
        ))
    };
    warns(
        &file("10.0"),
        &none(),
        expect![[r#"
        20:13 candidate-too-dear: main/big costs 12.5 USD per million output tokens, and max_price is 10: it is never sent to, and 1 candidate is left
            max_price_usd=10 price_usd=12.5 candidates_left=1
    "#]],
    );
    warns(
        &file("1.5"),
        &none(),
        expect![[r#"
        20:13 route-without-candidate: main/big costs 12.5 USD per million output tokens, and max_price is 1.5: no candidate is left, and every call of this route ends with `no-candidate`
            max_price_usd=1.5 price_usd=12.5 candidates_left=0
    "#]],
    );
    warns(&file("12.5"), &none(), expect![[""]]);
}

#[test]
fn a_fallback_that_comes_too_late_is_told() {
    // Two sends of 300 s are all of 600 s.
    let file = with("[[route]]\nmatch = { path = \"/v1/chat/completions\" }\nto = [\"main\", \"spare\"]\n");
    says(
        Code::FallbackComesLate,
        &file,
        &none(),
        expect![[r#"
        12:15 fallback-comes-late: an upstream that hangs takes 5m for each of 2 sends, and 10m are all that a call has: 0s are left for spare; a shorter timeouts.first_byte or tries = 1 leaves it more
            first_byte_ms=300000 sends=2 deadline_ms=600000 left_ms=0
    "#]],
    );
    says(
        Code::FallbackComesLate,
        &file.replace("to =", "tries = 1\nto ="),
        &none(),
        expect![[""]],
    );
    let quick = format!("policy = {{ timeouts = {{ first_byte = \"20s\" }} }}\n{file}");
    says(Code::FallbackComesLate, &quick, &none(), expect![[""]]);
}

#[test]
fn a_bucket_below_one_call_is_told() {
    // Such a call is refused however long it waits (rule I2).
    let file = "[[upstream]]\nname = \"main\"\nbase_url = \"https://x.example\"\n\
                policy = { limits = { tokens_per_minute = 10000, tokens_in_per_minute = 200000 } }\n\
                [[model]]\nname = \"big\"\nupstream = \"main\"\nwindow = 128000\n";
    warns(
        file,
        &none(),
        expect![[r#"
        4:43 bucket-below-window: a call of more than 10000 tokens is refused, however long it waits: the bucket of a minute holds no more, and big takes 128000; raise tokens_per_minute or keep prompts below it
            bucket=10000 window=128000
    "#]],
    );
}

#[test]
fn writes_that_are_declared_harmless_are_told() {
    // A second payment, by one word in a file.
    let route = |path: &str, rest: &str| {
        with(&format!(
            "[[route]]\nmatch = {{ path = \"{path}\" }}\nto = [\"main\", \"spare\"]\nreplay = \"declared\"\n{rest}"
        ))
    };
    warns(
        &route("/v1/payments", ""),
        &none(),
        expect![[r#"
        13:10 declared-write: a POST to `/v1/payments` that may have acted is sent again without a key, up to 7 times in all: each may be a second payment, mail or record; declare only what changes nothing, or let keys make it safe
            sends=7
    "#]],
    );
    warns(
        &route("/v1/*", "fallbacks = 0\n"),
        &none(),
        expect![[r#"
        13:10 declared-write: a POST to `/v1/*` that may have acted is sent again without a key, up to 6 times in all: each may be a second payment, mail or record; declare only what changes nothing, or let keys make it safe
            sends=6
    "#]],
    );
    warns(&route("/v1/chat/completions", ""), &none(), expect![[""]]);
    let writes = format!(
        "policy = {{ preset = \"writes\" }}\n{}",
        route("/v1/payments", "")
    );
    warns(
        &writes,
        &none(),
        expect![[r#"
            14:10 declared-not-taken: replay = "declared" is not taken here: the preset `writes` repeats what may have acted only with a key
        "#]],
    );
}

#[test]
fn retries_of_retries_are_told() {
    // a^d: six attempts of six attempts.
    let file = "[[upstream]]\nname = \"next\"\nbase_url = \"http://gateway.internal:8787\"\nprovider = \"seawall\"\n";
    warns(
        file,
        &none(),
        expect![[r#"
        4:12 nested-retries: this gateway retries, and so does the one behind it: with a policy like this one there, a call becomes up to 6 × 6 = 36 attempts, and in an outage 1.1 × 1.1 = 1.21 for each; retries = 0 here leaves them to it
            attempts_each=6 attempts_max=36 load_factor=1.21
    "#]],
    );
    warns(
        &format!("{file}policy = {{ retries = 0 }}"),
        &none(),
        expect![[""]],
    );
}

#[test]
fn a_gateway_in_front_of_itself_is_told() {
    // The first call never ends, and neither does the next.
    let file = |base: &str, listen: &str| {
        format!("[[upstream]]\nname = \"main\"\nbase_url = \"{base}\"\n[serve]\nlisten = \"{listen}\"\n")
    };
    warns(
        &file("http://localhost:8787/v1", "127.0.0.1:8787"),
        &none(),
        expect![[r#"
            3:12 goes-to-itself: its address is where the gateway itself listens (127.0.0.1:8787): every call would go around until its deadline
        "#]],
    );
    warns(
        &file("http://127.0.0.1", "0.0.0.0:80"),
        &none(),
        expect![[r#"
            3:12 goes-to-itself: its address is where the gateway itself listens (0.0.0.0:80): every call would go around until its deadline
        "#]],
    );
    warns(
        &file("http://localhost:8788", "127.0.0.1:8787"),
        &none(),
        expect![[""]],
    );
    warns(
        &file("http://10.0.0.7:8787", "0.0.0.0:8787"),
        &none(),
        expect![[""]],
    );
}

#[test]
fn own_words_that_undo_a_status_are_told() {
    // One line turns a rate limit, or every typing mistake of a caller, into an outage.
    let file = |words: &str| {
        format!("[[upstream]]\nname = \"main\"\nbase_url = \"https://x.example\"\nclassify = [{words}]\n")
    };
    warns(
        &file("{ status = 429, as = \"failed\" }"),
        &none(),
        expect![[r#"
            1:1 throttle-as-failed: a 429 that counts as failed cools nothing: its Retry-After holds for one call, every other one goes on, and each retry is charged; as = "throttled", or leave it out
        "#]],
    );
    warns(
        &file("{ status = 404, as = \"failed\" }"),
        &none(),
        expect![[r#"
        1:1 refusal-as-failed: a 404 is about the call itself and counts as failed here: a call that may be repeated is sent up to 6 times for it, spends the budget and counts against the breaker
            status=404 attempts=6
    "#]],
    );
    warns(
        &file("{ status = 446, as = \"failed\" }, { status = 409, as = \"failed\" }"),
        &none(),
        expect![[""]],
    );
}
