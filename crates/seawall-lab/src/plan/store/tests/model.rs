//! The store against books that anybody can check: a list of what was done, looked through from its beginning.

use super::*;
use proptest::prelude::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// An attempt with one of a few keys (or none) and one of a few bodies, from one of two accounts.
    Begin { key: Option<u8>, body: u8, account: u8 },
    /// One of the attempts that are being answered is over.
    End(usize),
    /// Time passes.
    Pass(u64),
    /// The mock is reset.
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (proptest::option::weighted(0.9, 0..4_u8), 0..3_u8, 0..2_u8)
            .prop_map(|(key, body, account)| Step::Begin { key, body, account }),
        6 => any::<usize>().prop_map(Step::End),
        3 => (1..6_u64).prop_map(Step::Pass),
        1 => Just(Step::Reset),
    ];
    proptest::collection::vec(step, 1..120)
}

/// One piece of work that was done with a key.
struct Deed {
    key: u8,
    account: u8,
    body: u8,
    at: u64,
    answer: String,
    over: bool,
    forgotten: bool,
}

/// How long a key is known, in seconds.
const TTL_SECS: u64 = 10;

#[derive(Default)]
struct Books {
    deeds: Vec<Deed>,
    made: usize,
    now: u64,
}

impl Books {
    /// What an attempt must meet: a word, and the answer where there is one already.
    fn expect(&self, key: Option<u8>, body: u8, account: u8) -> (&'static str, Option<&str>) {
        let live = |deed: &&Deed| {
            Some(deed.key) == key
                && deed.account == account
                && !deed.forgotten
                && (!deed.over || self.now < deed.at + TTL_SECS)
        };
        match self.deeds.iter().find(live) {
            None => ("done", None),
            Some(deed) if deed.body != body => ("422", None),
            Some(deed) if !deed.over => ("409", None),
            Some(deed) => ("replayed", Some(&deed.answer)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_live_key_stands_for_one_deed_whatever_happens_in_whatever_order(steps in steps()) {
        // Could break by any order of ends, repeats, times and resets that lets one key do two things, that gives a
        // repeat other bytes than the first attempt got, or that makes something for an attempt that is refused.
        let mut desk = Desk::new("POST /v1/payments = 200");
        let idempotency = desk.rule.idempotency.as_mut().unwrap();
        idempotency.ttl = Duration::from_secs(TTL_SECS);
        idempotency.scope = Scope::Header("authorization".to_owned());
        let mut books = Books::default();
        // Each ticket that is out, with the deed whose attempt it is.
        let mut out: Vec<(Ticket, usize)> = Vec::new();
        for step in steps {
            match step {
                Step::Begin { key, body, account } => {
                    let (word, answer) = books.expect(key, body, account);
                    let named = key.map_or(String::new(), |key| format!("key=k{key} "));
                    let said = desk.send(&format!("POST /v1/payments {named}account=a{account} {{\"amount\":{body}}}"));
                    prop_assert!(said.starts_with(word), "{} instead of {}", said, word);
                    if let Some(answer) = answer {
                        prop_assert_eq!(said.strip_prefix("replayed "), Some(answer));
                    }
                    if let Some(answer) = said.strip_prefix("done ") {
                        books.made += 1;
                        if let Some(key) = key {
                            let ticket = desk.out.pop().expect("a keyed deed has a ticket");
                            out.push((ticket, books.deeds.len()));
                            books.deeds.push(Deed {
                                key, account, body, at: books.now, answer: answer.to_owned(), over: false, forgotten: false,
                            });
                        }
                    }
                }
                Step::End(which) if !out.is_empty() => {
                    let (ticket, deed) = out.swap_remove(which % out.len());
                    desk.store.finished(ticket);
                    books.deeds[deed].over = true;
                }
                Step::End(_) => {}
                Step::Pass(secs) => {
                    books.now += secs;
                    desk.pass(Duration::from_secs(secs));
                }
                Step::Reset => {
                    desk.store.clear();
                    books.made = 0;
                    books.deeds.iter_mut().for_each(|deed| deed.forgotten = true);
                }
            }
            prop_assert_eq!(desk.count(), books.made);
            let flying = books.deeds.iter().filter(|deed| !deed.over && !deed.forgotten).count();
            prop_assert_eq!(desk.store.keys_in_flight(), flying);
        }
        // Nothing is left of a key whose time is over.
        for (ticket, _) in out {
            desk.store.finished(ticket);
        }
        desk.pass(Duration::from_secs(TTL_SECS));
        let _listed = desk.ask("GET /v1/payments");
        prop_assert_eq!(desk.store.keys(), 0);
        desk.store.clear();
        prop_assert_eq!(desk.store.bytes(), 0);
    }

    #[test]
    fn any_body_makes_an_object_that_is_json(body in proptest::collection::vec(any::<u8>(), 0..200), form in any::<bool>()) {
        // Could break by a body that gets into an object's text and is none.
        let content_type: &[u8] = if form { b"application/x-www-form-urlencoded" } else { b"text/plain" };
        let shape = Shape { id_prefix: "x_", kind: "x", base: None, making: Making::Body };
        let object = Object::made("x_1".to_owned(), &shape, fields::of_body(&body, Some(content_type)));
        let read: serde_json::Value = serde_json::from_str(&object.to_json()).expect("an object is JSON");
        prop_assert_eq!(&read["id"], "x_1");
    }

    #[test]
    fn a_forms_names_and_values_come_back(pairs in proptest::collection::btree_map("[a-z]{1,6}", ".{0,8}", 1..5)) {
        // Could break by an escape that is read twice or not at all.
        let encoded = |text: &str| -> String { text.bytes().map(|byte| format!("%{byte:02X}")).collect() };
        let form: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let fields = fields::of_body(form.join("&").as_bytes(), Some(b"application/x-www-form-urlencoded"));
        prop_assert_eq!(fields.len(), pairs.len());
        for (name, value) in &fields {
            let value: String = serde_json::from_str(value).expect("a form's value is a text");
            prop_assert_eq!(&value, &pairs[name]);
        }
    }
}
