use super::*;
use crate::findings::{Finding, Kind, Proof};
use crate::scenario::{Check, Evidence, Observe, judge};
use expect_test::expect;
use proptest::prelude::*;
use roxmltree::Document;

const TEXT: &str = "name = \"a <name> & \\\"more\\\"\"\nmock = 'm.toml'\nclient = { run = 'x' }\n[expect]\nsame_key = true\nnever = ['overlap']\n";

fn finding(kind: Kind, seen: &str) -> Finding {
    Finding {
        kind,
        run: Some(2),
        expected: "a <b>".to_owned(),
        seen: seen.to_owned(),
        proof: Proof::None,
    }
}

/// A report with everything in it that can be: passed, broken, unseen, unread, not run, and two seeds of one file.
fn whole(observe: Observe, seen: &str) -> Report {
    let scenario = Scenario::parse("a.toml", TEXT).unwrap();
    let at = scenario.expect.same_key.clone();
    let check = |what: &str, findings| Check {
        what: what.to_owned(),
        at: at.clone(),
        findings,
    };
    let entry = |seed: u64, checks: Vec<Check>| Entry {
        file: "a.toml".to_owned(),
        seed: Some(seed),
        took: Duration::from_micros(1_234_567),
        came: Came::Judged {
            scenario: Box::new(scenario.clone()),
            verdict: Verdict { checks, observe },
        },
    };
    let other = |file: &str, came| Entry {
        file: file.to_owned(),
        seed: None,
        took: Duration::ZERO,
        came,
    };
    Report {
        entries: vec![
            entry(
                1,
                vec![
                    check("client", vec![]),
                    check("same_key", vec![finding(Kind::NotObservable, "no write came")]),
                ],
            ),
            entry(
                2,
                vec![check(
                    "same_key",
                    vec![finding(Kind::Broken, seen), finding(Kind::Broken, "more")],
                )],
            ),
            other(
                "b.toml",
                Came::Unread("b.toml:1:1: a scenario has no key `x`\n1 | x = 1\n  | ^".to_owned()),
            ),
            other("c.toml", Came::NotRun("nothing moves".to_owned())),
        ],
    }
}

#[test]
fn the_three_reports_say_the_same() {
    let report = whole(Observe::May, "two\nlines");
    expect![[r#"
        ok   a.toml: a <name> & "more" (2 expectations, 1.235s, seed 1)
          ? same_key (a.toml:5: same_key = true)
              not observable: no write came (run 2)
        FAIL a.toml: a <name> & "more" (1 expectation, 1.235s, seed 2)
          x same_key (a.toml:5: same_key = true)
              expected  a <b>
              seen      two⏎lines (run 2)
              expected  a <b>
              seen      more (run 2)
        BAD  b.toml
          b.toml:1:1: a scenario has no key `x`
          1 | x = 1
            | ^
        FAIL c.toml: it could not be run
          nothing moves
        4 scenarios: 1 passed, 1 failed, 1 could not be run, 1 could not be read; 1 expectation not observable
    "#]]
    .assert_eq(&report.text(Colour::Plain));
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="seawall test" tests="7" failures="1" errors="2" skipped="1" time="2.469">
          <testsuite name="a.toml" tests="5" failures="1" errors="0" skipped="1" time="2.469">
            <properties>
              <property name="seed" value="1 2"/>
            </properties>
            <testcase classname="a.toml" name="a &lt;name&gt; &amp; &quot;more&quot; [seed 1]" time="1.234"/>
            <testcase classname="a.toml" name="client [seed 1]" time="0.000"/>
            <testcase classname="a.toml" name="same_key [seed 1]" time="0.000">
              <skipped message="not observable: no write came"/>
            </testcase>
            <testcase classname="a.toml" name="a &lt;name&gt; &amp; &quot;more&quot; [seed 2]" time="1.234"/>
            <testcase classname="a.toml" name="same_key [seed 2]" time="0.000">
              <failure type="broken" message="expected a &lt;b&gt;; seen two&#10;lines">a.toml:5:1: same_key = true&#10;expected: a &lt;b&gt;&#10;seen in run 2: two&#10;lines&#10;&#10;a.toml:5:1: same_key = true&#10;expected: a &lt;b&gt;&#10;seen in run 2: more&#10;</failure>
            </testcase>
          </testsuite>
          <testsuite name="b.toml" tests="1" failures="0" errors="1" skipped="0" time="0.000">
            <testcase classname="b.toml" name="b.toml" time="0.000">
              <error type="unread" message="b.toml:1:1: a scenario has no key `x`">b.toml:1:1: a scenario has no key `x`&#10;1 | x = 1&#10;  | ^</error>
            </testcase>
          </testsuite>
          <testsuite name="c.toml" tests="1" failures="0" errors="1" skipped="0" time="0.000">
            <testcase classname="c.toml" name="c.toml" time="0.000">
              <error type="not-run" message="nothing moves">nothing moves</error>
            </testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&report.junit());
    expect![[r#"{"passed":false,"scenarios":[{"came":"judged","checks":[{"column":1,"findings":[],"line":5,"state":"held","what":"client"},{"column":1,"findings":[{"attempts":[],"attempts_left_out":0,"expected":"a <b>","kind":"not-observable","run":2,"seen":"no write came","waits":[]}],"line":5,"state":"not-observable","what":"same_key"}],"error":null,"file":"a.toml","name":"a <name> & \"more\"","passed":true,"seed":1,"took_ms":1234.567},{"came":"judged","checks":[{"column":1,"findings":[{"attempts":[],"attempts_left_out":0,"expected":"a <b>","kind":"broken","run":2,"seen":"two\nlines","waits":[]},{"attempts":[],"attempts_left_out":0,"expected":"a <b>","kind":"broken","run":2,"seen":"more","waits":[]}],"line":5,"state":"broken","what":"same_key"}],"error":null,"file":"a.toml","name":"a <name> & \"more\"","passed":false,"seed":2,"took_ms":1234.567},{"came":"unread","checks":[],"error":"b.toml:1:1: a scenario has no key `x`\n1 | x = 1\n  | ^","file":"b.toml","name":"b.toml","passed":false,"seed":null,"took_ms":0.0},{"came":"not-run","checks":[],"error":"nothing moves","file":"c.toml","name":"c.toml","passed":false,"seed":null,"took_ms":0.0}],"summary":{"failed":1,"not_observable":1,"not_run":1,"passed":1,"unread":1}}"#]].assert_eq(&report.json());
}

#[test]
fn no_name_moves_the_cursor_of_whoever_reads_a_report() {
    // A name with a line break in it could tell of scenarios that never ran; one with an escape could hide others.
    let mut report = whole(Observe::Must, "x");
    let bad = "a\x1b[2J\n1 scenario: 1 passed\r";
    for entry in &mut report.entries {
        entry.file = bad.to_owned();
        if let Came::Judged { scenario, verdict } = &mut entry.came {
            scenario.name = bad.to_owned();
            verdict
                .checks
                .iter_mut()
                .for_each(|check| check.what = bad.to_owned());
        }
    }
    let text = report.text(Colour::Plain);
    assert!(!text.contains(['\x1b', '\r']), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("1 scenario")), "{text}");
}

#[test]
fn colours_only_add_colours() {
    let report = whole(Observe::Must, "x");
    let coloured = report.text(Colour::Ansi);
    let plain = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"]
        .iter()
        .fold(coloured.clone(), |text, code| text.replace(code, ""));
    assert_ne!(coloured, plain);
    assert_eq!(plain, report.text(Colour::Plain));
}

/// What the schemas of Jenkins and Surefire have in common, for what we write.
fn is_junit(xml: &str) {
    let document = Document::parse(xml).unwrap_or_else(|error| panic!("{error}\n{xml}"));
    let number = |node: roxmltree::Node<'_, '_>, name: &str| -> usize {
        node.attribute(name)
            .unwrap_or_else(|| panic!("{name} is missing"))
            .parse()
            .unwrap()
    };
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let mut sums = [0; 4];
    let counted = ["tests", "failures", "errors", "skipped"];
    for suite in root.children().filter(roxmltree::Node::is_element) {
        assert_eq!(suite.tag_name().name(), "testsuite");
        assert!(suite.attribute("name").is_some() && suite.attribute("time").unwrap().parse::<f64>().is_ok());
        let cases: Vec<_> = suite
            .children()
            .filter(|node| node.has_tag_name("testcase"))
            .collect();
        let having = |tag: &str| {
            cases
                .iter()
                .filter(|case| case.children().any(|node| node.has_tag_name(tag)))
                .count()
        };
        let found = [cases.len(), having("failure"), having("error"), having("skipped")];
        for place in 0..4 {
            assert_eq!(number(suite, counted[place]), found[place], "{}", counted[place]);
            sums[place] += found[place];
        }
        // Properties stand first, and a case says one thing at most.
        let order: Vec<_> = suite
            .children()
            .filter(roxmltree::Node::is_element)
            .map(|node| node.tag_name().name())
            .collect();
        assert!(order.iter().skip(1).all(|name| *name == "testcase"), "{order:?}");
        for case in cases {
            assert!(case.attribute("name").is_some() && case.attribute("classname").is_some());
            assert!(case.attribute("time").unwrap().parse::<f64>().is_ok());
            assert!(case.children().filter(roxmltree::Node::is_element).count() <= 1);
        }
    }
    for place in 0..4 {
        assert_eq!(number(root, counted[place]), sums[place], "{}", counted[place]);
    }
}

#[test]
fn junit_counts_what_it_holds_and_an_expectation_that_must_be_seen_fails() {
    for observe in [Observe::May, Observe::Must] {
        is_junit(&whole(observe, "x").junit());
    }
    is_junit(&Report::default().junit());
    assert!(whole(Observe::Must, "x").junit().contains("failures=\"2\""));
}

#[test]
fn a_report_of_a_real_verdict_is_read_back() {
    let scenario = Scenario::parse("a.toml", TEXT).unwrap();
    let verdict = judge(&scenario, &Evidence::default());
    let came = Came::Judged {
        scenario: Box::new(scenario),
        verdict,
    };
    let entry = Entry {
        file: "a.toml".to_owned(),
        seed: None,
        took: Duration::ZERO,
        came,
    };
    let report = Report { entries: vec![entry] };
    is_junit(&report.junit());
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    assert_eq!(
        (&json["passed"], &json["summary"]["failed"]),
        (&false.into(), &1.into())
    );
}

/// Any text, and one of signs that no text is made of: by itself the generator makes none of those.
fn output() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\\x00-\\x20\\x7f\u{85}\u{2028}\u{fffe}]{0,12}"
    ]
}

proptest! {
    #[test]
    fn whatever_a_client_wrote_every_report_can_be_read(seen in output()) {
        // A NUL, an escape or `]]>` in a client's output would make the whole file unreadable.
        let report = whole(Observe::May, &seen);
        is_junit(&report.junit());
        let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
        prop_assert_eq!(json["scenarios"][1]["checks"][0]["findings"][0]["seen"].as_str(), Some(seen.as_str()));
        prop_assert!(!report.text(Colour::Plain).chars().any(|sign| sign.is_control() && sign != '\n'));
    }
}
