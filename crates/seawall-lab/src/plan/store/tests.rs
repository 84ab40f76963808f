use super::*;
use expect_test::{Expect, expect};

mod model;

/// One rule, its store, and the tickets of the attempts that are being answered.
struct Desk {
    store: Store<String>,
    rule: Rule,
    now: Instant,
    out: Vec<Ticket>,
    content_type: &'static str,
    making: Making<'static>,
}

impl Desk {
    fn new(route: &str) -> Self {
        let mut rule = Rule::parse(route).expect("a route");
        rule.resource = Some("payments".to_owned());
        rule.idempotency = Some(Idempotency::default());
        Self {
            store: Store::default(),
            rule,
            now: Instant::START,
            out: Vec::new(),
            content_type: "application/json",
            making: Making::Body,
        }
    }

    /// Sends `METHOD TARGET [key=K] [account=A] [BODY]`; the ticket stays out.
    fn send(&mut self, line: &str) -> String {
        let mut words = line.splitn(3, ' ');
        let method = words.next().expect("a method");
        let target = words.next().expect("a path");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut body = words.next().unwrap_or("");
        let (mut key, mut account) = (None, None);
        for (mark, slot) in [("key=", &mut key), ("account=", &mut account)] {
            if let Some(rest) = body.strip_prefix(mark) {
                let (value, left) = rest.split_once(' ').unwrap_or((rest, ""));
                *slot = Some(value.as_bytes());
                body = left;
            }
        }
        let content_type = self.content_type.as_bytes();
        let headers: Headers<'_> = &|name| match name {
            "idempotency-key" => key,
            "authorization" => account,
            "content-type" => Some(content_type),
            _ => None,
        };
        let job = Job {
            rule: &self.rule,
            shape: Shape {
                id_prefix: "payments_",
                kind: "payment",
                base: None,
                making: self.making,
            },
            method,
            path,
            query,
            headers,
            body: body.as_bytes(),
        };
        let work = self.store.work(self.now, &job, |effect| match effect {
            Effect::Missing => Err("404".to_owned()),
            Effect::NotAllowed => Err("405".to_owned()),
            Effect::Nothing
            | Effect::Created(_)
            | Effect::Read(_)
            | Effect::Listed { .. }
            | Effect::Changed(_)
            | Effect::Removed(_) => Ok(effect.to_json().unwrap_or_else(|| "{}".to_owned())),
        });
        match work {
            Work::Done { answer, ticket, .. } => {
                self.out.extend(ticket);
                format!("done {answer}")
            }
            Work::Replayed(answer) => format!("replayed {answer}"),
            Work::Declined { answer, .. } => format!("declined {answer}"),
            Work::Refused(refusal) => format!("{} {}: {refusal}", refusal.status(), refusal.code()),
        }
    }

    /// Sends, and lets the attempt end.
    fn ask(&mut self, line: &str) -> String {
        let said = self.send(line);
        for ticket in self.out.drain(..) {
            self.store.finished(ticket);
        }
        said
    }

    fn pass(&mut self, length: Duration) {
        self.now = self.now.after(length);
    }

    fn count(&self) -> usize {
        self.store.count("payments")
    }
}

fn check(mut desk: Desk, lines: &[&str], expected: Expect) {
    let said = lines.iter().map(|line| {
        let said = desk.ask(line);
        format!("{line}\n    {said}\n")
    });
    expected.assert_eq(&said.collect::<String>());
}

#[test]
fn a_resource_is_made_read_changed_and_removed_as_users_expect() {
    // Could break by an object that an answer shows and a list does not, by an id that is given twice, or by a name
    // that a client took with PUT and the counter takes again.
    check(
        Desk::new("POST /v1/payments = 200"),
        &[
            r#"POST /v1/payments {"amount":5,"id":"mine","note":{"b":1,"a":18446744073709551616}}"#,
            "GET /v1/payments/payments_1",
            r#"PATCH /v1/payments/payments_1 {"amount":6}"#,
            r#"PUT /v1/payments/payments_3 {"amount":7}"#,
            r#"PUT /v1/payments/payments_3 {"amount":8}"#,
            "POST /v1/payments",
            r#"POST /v1/payments/payments_3 {"status":"void"}"#,
            "DELETE /v1/payments/payments_1",
            "GET /v1/payments/payments_1",
            "DELETE /v1/payments/payments_1",
            "POST /v1/payments/payments_9",
            "DELETE /v1/payments",
            "BREW /v1/payments/payments_3",
            "GET /v1/payments/",
            "POST /v1/payments",
        ],
        expect![[r#"
            POST /v1/payments {"amount":5,"id":"mine","note":{"b":1,"a":18446744073709551616}}
                done {"id":"payments_1","object":"payment","created":1735689600,"amount":5,"note":{"b":1,"a":18446744073709551616}}
            GET /v1/payments/payments_1
                done {"id":"payments_1","object":"payment","created":1735689600,"amount":5,"note":{"b":1,"a":18446744073709551616}}
            PATCH /v1/payments/payments_1 {"amount":6}
                done {"id":"payments_1","object":"payment","created":1735689600,"amount":6,"note":{"b":1,"a":18446744073709551616}}
            PUT /v1/payments/payments_3 {"amount":7}
                done {"id":"payments_3","object":"payment","created":1735689600,"amount":7}
            PUT /v1/payments/payments_3 {"amount":8}
                done {"id":"payments_3","object":"payment","created":1735689600,"amount":8}
            POST /v1/payments
                done {"id":"payments_4","object":"payment","created":1735689600}
            POST /v1/payments/payments_3 {"status":"void"}
                done {"id":"payments_3","object":"payment","created":1735689600,"amount":8,"status":"void"}
            DELETE /v1/payments/payments_1
                done {"id":"payments_1","object":"payment","deleted":true}
            GET /v1/payments/payments_1
                declined 404
            DELETE /v1/payments/payments_1
                declined 404
            POST /v1/payments/payments_9
                declined 404
            DELETE /v1/payments
                declined 405
            BREW /v1/payments/payments_3
                declined 405
            GET /v1/payments/
                done {"object":"list","url":"/v1/payments/","data":[{"id":"payments_3","object":"payment","created":1735689600,"amount":8,"status":"void"},{"id":"payments_4","object":"payment","created":1735689600}],"has_more":false}
            POST /v1/payments
                done {"id":"payments_5","object":"payment","created":1735689600}
        "#]],
    );
}

#[test]
fn a_body_that_is_no_json_object_is_kept_as_what_it_is() {
    // Could break by a form whose names are cut at the first `=`, by JSON that curl calls a form, by bytes that are no
    // text, and by a name that nests until the stack ends.
    let mut desk = Desk::new("POST /v1/payments = 200");
    desk.content_type = "application/x-www-form-urlencoded; charset=utf-8";
    let deep = format!("POST /v1/payments a{}=1", "[b]".repeat(9));
    let brackets = format!("POST /v1/payments {}1{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(desk.ask(&brackets).starts_with("done"));
    check(
        desk,
        &[
            "POST /v1/payments amount=5&note=a%20b+c%3D%zz&metadata[order]=7&items[]=x&items[]=y&amount=6&flag",
            r#"POST /v1/payments {"amount":5}"#,
            "POST /v1/payments [1, 2]",
            "POST /v1/payments a[=1&]=2&b[c]d=3&[e]=4",
            &deep,
        ],
        expect![[r#"
            POST /v1/payments amount=5&note=a%20b+c%3D%zz&metadata[order]=7&items[]=x&items[]=y&amount=6&flag
                done {"id":"payments_2","object":"payment","created":1735689600,"amount":"6","note":"a b c=%zz","metadata":{"order":"7"},"items":["x","y"],"flag":""}
            POST /v1/payments {"amount":5}
                done {"id":"payments_3","object":"payment","created":1735689600,"amount":5}
            POST /v1/payments [1, 2]
                done {"id":"payments_4","object":"payment","created":1735689600,"data":[1, 2]}
            POST /v1/payments a[=1&]=2&b[c]d=3&[e]=4
                done {"id":"payments_5","object":"payment","created":1735689600,"a[":"1","]":"2","b[c]d":"3","[e]":"4"}
            POST /v1/payments a[b][b][b][b][b][b][b][b][b]=1
                done {"id":"payments_6","object":"payment","created":1735689600,"a[b][b][b][b][b][b][b][b][b]":"1"}
        "#]],
    );
    let mut desk = Desk::new("POST /v1/payments = 200");
    assert!(
        desk.ask("POST /v1/payments plain \"words\"")
            .ends_with(r#""data":"plain \"words\""}"#)
    );
    assert_eq!(
        fields::of_body(b"\xff\xfe", None),
        [("data_bytes".to_owned(), "2".to_owned())]
    );
}

#[test]
fn a_dialect_makes_its_objects_of_what_they_were() {
    // Could break by a change that sets back what the dialect once gave, or by an id that is the dialect's.
    let mut desk = Desk::new("* /v1/payments* = 200");
    desk.making = Making::Dialect(&|id, before| {
        let paid = before.map_or("false", |_| "true");
        format!("{{\"id\":\"pi_9\",\"paid\":{paid},\"secret\":\"{id}_s\"}}")
    });
    check(
        desk,
        &[
            "POST /v1/payments amount=5",
            "POST /v1/payments/payments_1 amount=6",
            "POST /v1/payments/payments_1/capture",
            "POST /v1/payments/payments_9/capture",
            "GET /v1/payments/payments_1/capture",
            "PUT /v1/payments/payments_1",
            "GET /v1/payments/payments_1",
        ],
        expect![[r#"
            POST /v1/payments amount=5
                done {"id":"payments_1","object":"payment","created":1735689600,"paid":false,"secret":"payments_1_s"}
            POST /v1/payments/payments_1 amount=6
                done {"id":"payments_1","object":"payment","created":1735689600,"paid":true,"secret":"payments_1_s"}
            POST /v1/payments/payments_1/capture
                done {"id":"payments_1","object":"payment","created":1735689600,"paid":true,"secret":"payments_1_s"}
            POST /v1/payments/payments_9/capture
                declined 404
            GET /v1/payments/payments_1/capture
                declined 404
            PUT /v1/payments/payments_1
                done {"id":"payments_1","object":"payment","created":1735689600,"paid":false,"secret":"payments_1_s"}
            GET /v1/payments/payments_1
                done {"id":"payments_1","object":"payment","created":1735689600,"paid":false,"secret":"payments_1_s"}
        "#]],
    );
}

#[test]
fn a_list_is_walked_to_its_end_and_a_wrong_question_is_refused() {
    // Could break by an object on two pages or on none, or by a limit that is cut to the most in silence.
    let mut desk = Desk::new("POST /v1/payments = 200");
    for _ in 0..5 {
        let _made = desk.ask("POST /v1/payments");
    }
    let ids = |said: &str| -> Vec<String> {
        let found = said.split("\"id\":\"").skip(1);
        found
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let first = desk.ask("GET /v1/payments?limit=2&expand=x");
    assert_eq!(ids(&first), ["payments_1", "payments_2"]);
    assert!(first.ends_with("\"has_more\":true}"));
    let second = desk.ask("GET /v1/payments?starting_after=payments_2&limit=3");
    assert_eq!(ids(&second), ["payments_3", "payments_4", "payments_5"]);
    assert!(second.ends_with("\"has_more\":false}"));
    assert_eq!(
        desk.ask("GET /v1/payments?limit=0"),
        "400 bad-query: `limit` of this query cannot be right; expected a whole number from 1 to 1000"
    );
    assert!(desk.ask("GET /v1/payments?limit=1001").starts_with("400"));
    assert!(desk.ask("GET /v1/payments?starting_after=no").starts_with("400"));
    let page = desk.store.page("payments", 2, 2);
    assert_eq!((page.objects.len(), page.next), (2, Some(4)));
    assert_eq!(desk.store.page("payments", 4, 2).next, None);
}

#[test]
fn below_a_star_a_post_makes_and_only_a_known_name_is_changed() {
    // Could break by a 404 for the very attempt that the route is there for.
    let mut desk = Desk::new("* /v1/accounts/* = 200");
    assert!(
        desk.ask("POST /v1/accounts/7/payments")
            .starts_with("done {\"id\":\"payments_1\"")
    );
    assert!(
        desk.ask("POST /v1/accounts/payments_1 {\"amount\":1}")
            .contains("\"amount\":1")
    );
    assert!(
        desk.ask("POST /v1/accounts/9")
            .starts_with("done {\"id\":\"payments_2\"")
    );
    assert_eq!(desk.ask("GET /v1/accounts/7/payments"), "declined 404");
    assert_eq!(desk.count(), 2);
}

#[test]
fn what_no_rule_matches_belongs_to_a_resource_by_its_path() {
    // Could break by `/v1/paymentsX`, by a path two levels below, or by a rule that keeps nothing.
    let mut rule = Rule::parse("POST /v1/payments = 200").unwrap();
    assert!(!rule.implies("/v1/payments"));
    rule.resource = Some("payments".to_owned());
    for (path, implied) in [
        ("/v1/payments", true),
        ("/v1/payments/", true),
        ("/v1/payments/payments_1", true),
        ("/v1/payments/payments_1/refunds", false),
        ("/v1/paymentsX", false),
        ("/v1", false),
    ] {
        assert_eq!(rule.implies(path), implied, "{path}");
    }
}

#[test]
fn a_key_does_the_work_once_and_then_replays_it() {
    // Could break by a second payment, by an answer that was made anew, or by a key that forgets what it stood for.
    check(
        Desk::new("POST /v1/payments = 200"),
        &[
            r#"POST /v1/payments key=k1 {"amount":5}"#,
            r#"POST /v1/payments key=k1 {"amount":5}"#,
            r#"POST /v1/payments key=k1 {"amount":6}"#,
            r#"POST /v1/payments?expand=x key=k1 {"amount":5}"#,
            r#"PATCH /v1/payments/payments_1 key=k1 {"amount":5}"#,
            r#"PATCH /v1/payments/payments_1 key=k2 {"amount":6}"#,
            r#"POST /v1/payments key=k1 {"amount":5}"#,
            "DELETE /v1/payments/payments_1 key=k3",
            "DELETE /v1/payments/payments_1 key=k3",
            "DELETE /v1/payments/payments_1 key=k4",
            "GET /v1/payments key=k1",
            "POST /v1/payments key= {}",
        ],
        expect![[r#"
            POST /v1/payments key=k1 {"amount":5}
                done {"id":"payments_1","object":"payment","created":1735689600,"amount":5}
            POST /v1/payments key=k1 {"amount":5}
                replayed {"id":"payments_1","object":"payment","created":1735689600,"amount":5}
            POST /v1/payments key=k1 {"amount":6}
                422 key-reused: this idempotency key was used before for something else (method, path, query or body differ); make a new one for each call
            POST /v1/payments?expand=x key=k1 {"amount":5}
                422 key-reused: this idempotency key was used before for something else (method, path, query or body differ); make a new one for each call
            PATCH /v1/payments/payments_1 key=k1 {"amount":5}
                422 key-reused: this idempotency key was used before for something else (method, path, query or body differ); make a new one for each call
            PATCH /v1/payments/payments_1 key=k2 {"amount":6}
                done {"id":"payments_1","object":"payment","created":1735689600,"amount":6}
            POST /v1/payments key=k1 {"amount":5}
                replayed {"id":"payments_1","object":"payment","created":1735689600,"amount":5}
            DELETE /v1/payments/payments_1 key=k3
                done {"id":"payments_1","object":"payment","deleted":true}
            DELETE /v1/payments/payments_1 key=k3
                replayed {"id":"payments_1","object":"payment","deleted":true}
            DELETE /v1/payments/payments_1 key=k4
                declined 404
            GET /v1/payments key=k1
                done {"object":"list","url":"/v1/payments","data":[],"has_more":false}
            POST /v1/payments key= {}
                400 key-empty: the idempotency key is empty; make one for each call
        "#]],
    );
}

#[test]
fn a_key_is_in_flight_until_its_first_attempt_is_over() {
    // Could break by a repeat that is done beside the first, or by a wait for what waiting cannot make right.
    let mut desk = Desk::new("POST /v1/payments = 200");
    assert!(desk.send("POST /v1/payments key=k a").starts_with("done"));
    assert!(
        desk.send("POST /v1/payments key=k a")
            .starts_with("409 key-in-flight")
    );
    assert!(
        desk.send("POST /v1/payments key=k b")
            .starts_with("422 key-reused")
    );
    // However late: a key in flight has no end.
    desk.pass(DEFAULT_KEY_TTL.plus(DEFAULT_KEY_TTL));
    assert!(desk.send("POST /v1/payments key=k a").starts_with("409"));
    assert_eq!((desk.store.keys(), desk.store.keys_in_flight()), (1, 1));
    let ticket = desk.out.pop().unwrap();
    desk.store.finished(ticket);
    // Its time was over while it was in flight.
    assert!(desk.send("POST /v1/payments key=k b").starts_with("done"));
    assert_eq!(desk.count(), 2);
}

#[test]
fn a_key_is_new_again_when_its_time_is_over() {
    // Could break by a nanosecond, by a time that each repeat begins anew, or by a clock that steps back.
    let mut desk = Desk::new("POST /v1/payments = 200");
    desk.rule.idempotency.as_mut().unwrap().ttl = Duration::from_secs(10);
    assert!(desk.ask("POST /v1/payments key=k a").starts_with("done"));
    desk.pass(Duration::from_secs(10).minus(Duration::from_nanos(1)));
    assert!(desk.ask("POST /v1/payments key=k a").starts_with("replayed"));
    desk.pass(Duration::from_nanos(1));
    assert!(desk.ask("POST /v1/payments key=k b").starts_with("done"));
    assert_eq!(desk.store.keys(), 1);
    desk.now = Instant::START;
    assert!(desk.ask("POST /v1/payments key=k b").starts_with("replayed"));
}

#[test]
fn what_is_refused_leaves_its_key_free() {
    // Could break by an error that is kept, and that every repeat then meets for a day.
    let mut desk = Desk::new("POST /v1/payments = 200");
    let job = "PATCH /v1/payments/payments_1 key=k {\"amount\":5}";
    assert_eq!(desk.ask(job), "declined 404");
    let _made = desk.ask("POST /v1/payments");
    assert!(desk.ask(job).starts_with("done"));
    assert!(desk.ask(job).starts_with("replayed"));
    assert_eq!(desk.store.keys(), 1);
}

#[test]
fn keys_of_different_scopes_are_apart() {
    // Could break where one part of a name runs into the next, or where everyone shares what belongs to an account.
    let mut desk = Desk::new("POST /v1/payments = 200");
    assert!(
        desk.ask("POST /v1/payments key=k account=a x")
            .starts_with("done")
    );
    assert!(
        desk.ask("POST /v1/payments key=k account=b x")
            .starts_with("replayed")
    );
    desk.rule.idempotency.as_mut().unwrap().scope = Scope::Header("authorization".to_owned());
    assert!(
        desk.ask("POST /v1/payments key=k account=a x")
            .starts_with("done")
    );
    assert!(
        desk.ask("POST /v1/payments key=k account=b x")
            .starts_with("done")
    );
    assert!(
        desk.ask("POST /v1/payments key=k account=a x")
            .starts_with("replayed")
    );
    // The account `a` with the key `k` is not the account without a name and the key `ak`.
    assert!(desk.ask("POST /v1/payments key=ak x").starts_with("done"));
    assert_eq!(desk.count(), 4);
    desk.rule.pattern = Rule::parse("POST /v1/* = 200").unwrap().pattern;
    assert!(
        desk.ask("POST /v1/payments key=k account=a x")
            .starts_with("done")
    );
    assert!(Name::new("ab", b"c", b"d") != Name::new("a", b"bc", b"d"));
    assert!(Name::new("a", b"b", b"cd") != Name::new("a", b"bc", b"d"));
}

#[test]
fn a_key_that_is_missing_or_too_long_is_said_to_be() {
    // Could break by one byte, and by a read that is refused for want of a key.
    let mut desk = Desk::new("POST /v1/payments = 200");
    desk.rule.idempotency.as_mut().unwrap().unkeyed = Unkeyed::Refused;
    assert_eq!(
        desk.ask("POST /v1/payments {}"),
        "400 key-missing: this route does no write without a key in the header `idempotency-key`; make one for each \
         call and send it with every attempt"
    );
    assert!(desk.ask("GET /v1/payments").starts_with("done"));
    let (most, more) = ("k".repeat(KEY_BYTES_MAX), "k".repeat(KEY_BYTES_MAX + 1));
    assert!(
        desk.ask(&format!("POST /v1/payments key={most} {{}}"))
            .starts_with("done")
    );
    assert_eq!(
        desk.ask(&format!("POST /v1/payments key={more} {{}}")),
        "400 key-too-long: the idempotency key is 256 bytes long; the most is 255"
    );
    assert_eq!(desk.count(), 1);
}

#[test]
fn a_full_store_says_so_and_forgets_nothing_before_its_time() {
    // Could break by an old key that makes room and is then done again, or by work that is done and then refused.
    let mut desk = Desk::new("POST /v1/payments = 200");
    desk.rule.idempotency.as_mut().unwrap().ttl = Duration::from_secs(10);
    desk.store = Store::holding(4_000);
    let mut kept = 0;
    let said = loop {
        let said = desk.ask(&format!("POST /v1/payments key=k{kept} x"));
        if !said.starts_with("done") {
            break said;
        }
        kept += 1;
    };
    assert!(kept > 2, "{kept}");
    assert_eq!(
        said,
        "500 store-full: this mock keeps 4000 bytes of objects and keys, and no more; reset it"
    );
    assert!(desk.store.bytes() <= 4_000);
    assert_eq!((desk.count(), desk.store.keys()), (kept, kept));
    for n in 0..kept {
        assert!(
            desk.ask(&format!("POST /v1/payments key=k{n} x"))
                .starts_with("replayed")
        );
    }
    assert!(desk.ask("GET /v1/payments/payments_1").starts_with("done"));
    assert!(desk.ask("DELETE /v1/payments/payments_1").starts_with("done"));
    desk.pass(Duration::from_secs(10));
    assert!(desk.ask("POST /v1/payments key=new x").starts_with("done"));
    assert_eq!(desk.store.keys(), 1);
}

#[test]
fn what_is_replaced_removed_or_over_gives_its_room_back() {
    // Could break by a count that only grows: a long run would end with a 500 and an empty store.
    let mut desk = Desk::new("POST /v1/payments = 200");
    let put = |size: usize| {
        format!(
            "PUT /v1/payments/p key=k{size} {{\"note\":\"{}\"}}",
            "x".repeat(size)
        )
    };
    let mut held = Vec::new();
    for size in [10, 1_000, 10] {
        let _changed = desk.ask(&put(size));
        desk.pass(DEFAULT_KEY_TTL);
        // A look lets go of the key and its answer.
        let _seen = desk.ask("GET /v1/payments");
        held.push(desk.store.bytes());
    }
    assert_eq!((held[1] - held[0], held[2]), (990, held[0]));
    assert!(desk.ask("DELETE /v1/payments/p").starts_with("done"));
    assert_eq!((desk.store.bytes(), desk.store.keys()), (0, 0));
}

#[test]
fn a_reset_begins_anew_and_an_old_ticket_ends_nothing_new() {
    // Could break by an attempt from before the reset that lets a repeat in beside a newer first attempt.
    let mut desk = Desk::new("POST /v1/payments = 200");
    let _sent = desk.send("POST /v1/payments key=k x");
    let old = desk.out.pop().unwrap();
    desk.store.clear();
    assert_eq!((desk.count(), desk.store.keys(), desk.store.bytes()), (0, 0, 0));
    assert!(desk.send("POST /v1/payments key=k x").contains("payments_1"));
    desk.store.finished(old);
    assert!(desk.send("POST /v1/payments key=k x").starts_with("409"));
    // One rule alone: another rule's keys stay.
    let other = Rule::parse("POST /v1/refunds = 200").unwrap();
    desk.store.clear_rule(&other);
    assert_eq!((desk.count(), desk.store.keys()), (1, 1));
    let rule = desk.rule.clone();
    desk.store.clear_rule(&rule);
    assert_eq!((desk.count(), desk.store.keys(), desk.store.bytes()), (0, 0, 0));
    assert!(desk.send("POST /v1/payments key=k x").starts_with("done"));
}

#[test]
fn a_rule_without_a_resource_replays_its_answer_too() {
    // Could break where only what keeps objects looks at keys.
    let mut desk = Desk::new("POST /v1/chat/completions = 200");
    desk.rule.resource = None;
    assert_eq!(desk.ask("POST /v1/chat/completions key=k {}"), "done {}");
    assert_eq!(desk.ask("POST /v1/chat/completions key=k {}"), "replayed {}");
    assert!(desk.ask("POST /v1/chat/completions key=k []").starts_with("422"));
    assert_eq!(desk.store.resources().count(), 0);
}
