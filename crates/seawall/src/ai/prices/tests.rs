use super::*;
use expect_test::expect;
use proptest::prelude::*;

fn used(input: u64, output: u64) -> Billed {
    Billed {
        input,
        output,
        ..Billed::default()
    }
}

#[test]
fn every_row_is_found_by_its_name() {
    // Broken if rows were sorted in another order than they are looked for, or if a cell were no number: a model that
    // the table has would be unpriced.
    let mut count = 0;
    let mut last = "";
    for line in table::rows().lines() {
        let (name, terms) = table::read(line);
        assert!(last < name, "{last} stands before {name}");
        assert_eq!(table::row(name), Some((name, terms)), "{name}");
        assert!(
            line.split('\t')
                .skip(1)
                .all(|cell| cell == "-" || cell.parse::<u64>().is_ok()),
            "{line}"
        );
        assert!(matches!(line.split('\t').count(), 7 | 11), "{line}");
        (last, count) = (name, count + 1);
    }
    assert!(count > 900, "{count}");
    for name in [
        "",
        "a",
        "openai",
        "openai/",
        "openai/gpt-4",
        "zzz",
        "xai/zzz",
        "openai/gpt-4.1\t2000000",
        "\n",
    ] {
        assert_eq!(table::row(name).is_some(), name == "openai/gpt-4", "{name:?}");
    }
}

#[test]
fn the_table_has_a_date_and_says_where_it_comes_from() {
    // Broken if a table of last year looked like one of today.
    assert_eq!(Prices::date(), "2026-11");
    assert!(Prices::source().contains("litellm"));
}

#[test]
fn one_seller_is_never_taken_for_another() {
    // Broken if a reseller's price were taken for a maker's, an upstream's for its neighbour's, or a deployment for the
    // model whose name it happens to have.
    let prices = Prices::builtin().with_seller("mine", "azure");
    let name = |name: &str| prices.find(name).map(|found| found.name);
    let at = |host: &str, model: &str| prices.find_at("up", host, model).map(|found| found.name);
    assert_eq!(name("gpt-4.1"), Some("openai/gpt-4.1"));
    assert_eq!(name("OpenAI/GPT-4.1"), Some("openai/gpt-4.1"));
    assert_eq!(name("mine/gpt-4.1"), Some("azure/gpt-4.1"));
    assert_eq!(
        name("azure/eu/gpt-4o-2024-08-06"),
        Some("azure/eu/gpt-4o-2024-08-06")
    );
    assert_eq!(name("theirs/gpt-4.1"), None);
    assert_eq!(name("gpt-oss-120b"), None);
    assert_eq!(name("groq/openai/gpt-oss-120b"), Some("groq/openai/gpt-oss-120b"));
    assert_eq!(at("api.openai.com", "gpt-4.1"), Some("openai/gpt-4.1"));
    assert_eq!(at("team.openai.azure.com", "gpt-4.1"), Some("azure/gpt-4.1"));
    assert_eq!(
        at("api.groq.com", "openai/gpt-oss-120b"),
        Some("groq/openai/gpt-oss-120b")
    );
    assert_eq!(
        at("europe-west4-aiplatform.googleapis.com", "gemini-2.5-pro"),
        Some("vertex/gemini-2.5-pro")
    );
    assert_eq!(at("127.0.0.1", "gpt-4.1"), None);
    assert_eq!(at("api.openai.com.evil.example", "gpt-4.1"), None);
}

#[test]
fn what_is_put_around_a_name_does_not_hide_it() {
    // Broken if an answer that names a dated version of a known model were unpriced, or if the date hid a row of its own
    // price.
    let prices = Prices::builtin();
    for (asked, row) in [
        ("gpt-4.1-2099-01-02", "openai/gpt-4.1"),
        ("gpt-4o-2024-05-13", "openai/gpt-4o-2024-05-13"),
        ("claude-sonnet-4-5-20991231", "anthropic/claude-sonnet-4-5"),
        (
            "claude-sonnet-4-5@20250929",
            "anthropic/claude-sonnet-4-5-20250929",
        ),
        ("claude-opus-5@20991231", "anthropic/claude-opus-5"),
        ("models/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("ft:gpt-4.1-2025-04-14:team::abc", "openai/ft:gpt-4.1-2025-04-14"),
    ] {
        assert_eq!(prices.find(asked).map(|found| found.name), Some(row), "{asked}");
    }
    for unknown in [
        "gpt-4.1-mine",
        "ft:",
        "ft:gpt-9:team",
        "-2099-01-02",
        "é-2099-01-02",
        "2099-01-02",
        "/",
        "a/b/c",
        "",
    ] {
        assert_eq!(prices.find(unknown), None, "{unknown}");
    }
}

#[test]
fn what_nobody_prices_is_never_free() {
    // Broken if an unknown model, or one whose row lacks the price of what was used, cost nothing: a cap on money would
    // never be reached.
    let prices = Prices::builtin();
    let of = |name: &str, billed: Billed| prices.cost(name, billed);
    assert_eq!(
        of("no-such-model", used(1, 1)),
        Cost::Unpriced(Unpriced::UnknownModel)
    );
    // Its source says 0 for both, as it does where nobody knows.
    assert_eq!(
        of("gemini/gemma-3-27b-it", used(1, 0)),
        Cost::Unpriced(Unpriced::Input)
    );
    assert_eq!(
        of("azure/model-router", used(1, 1)),
        Cost::Unpriced(Unpriced::Output)
    );
    // What embeds writes nothing, and what was not used needs no price.
    assert_eq!(
        of("text-embedding-3-small", used(1_000_000, 0)),
        Cost::Priced(MicroUsd(20_000))
    );
    assert_eq!(
        of("mistral/mistral-embed", used(1_000_000, 0)),
        Cost::Priced(MicroUsd(100_000))
    );
    let told = of("no-such-model", used(1, 1)).to_string();
    assert_eq!(
        told,
        "unpriced: nobody says what this model costs; write a [[model]] with its prices"
    );
}

#[test]
fn a_cost_is_the_sum_of_its_tokens_rounded_up_once() {
    // Broken if a cached token were charged twice, if a sum of roundings were told, or if a long prompt were charged the
    // low price for its first part.
    let prices = Prices::builtin();
    let of = |name: &str, billed: Billed| prices.cost(name, billed).to_string();
    let told = [
        ("gpt-4.1", used(1, 0)),
        ("gpt-4.1", used(1_000_000, 1_000_000)),
        (
            "gpt-4.1",
            Billed {
                cached_input: 1_000_000,
                ..used(0, 0)
            },
        ),
        ("o1-pro", used(0, 1_000)),
        (
            "claude-opus-5",
            Billed {
                cache_write: 1_000_000,
                ..used(0, 0)
            },
        ),
        (
            "claude-opus-5",
            Billed {
                long_cache_write: 1_000_000,
                ..used(0, 0)
            },
        ),
        ("gpt-6-sol", used(272_000, 1_000)),
        ("gpt-6-sol", used(272_001, 1_000)),
        (
            "gpt-6-sol",
            Billed {
                cached_input: 272_000,
                ..used(1, 1_000)
            },
        ),
        (
            "gpt-6-sol",
            Billed {
                long_cache_write: 1_000_000,
                ..used(0, 0)
            },
        ),
        ("gpt-4.1", used(u64::MAX, u64::MAX)),
    ]
    .map(|(name, billed)| format!("{name} {} {}: {}", billed.read(), billed.output, of(name, billed)))
    .join("\n");
    expect![[r#"
        gpt-4.1 1 0: $0.000002
        gpt-4.1 1000000 1000000: $10
        gpt-4.1 1000000 0: $0.5
        o1-pro 0 1000: $0.6
        claude-opus-5 1000000 0: $6.25
        claude-opus-5 1000000 0: $10
        gpt-6-sol 272000 1000: $0.554
        gpt-6-sol 272001 1000: $1.103004
        gpt-6-sol 272001 1000: $0.123804
        gpt-6-sol 1000000 0: $10
        gpt-4.1 18446744073709551615 18446744073709551615: $18446744073709.551615"#]]
    .assert_eq(&told);
}

#[test]
fn your_own_word_stands_over_the_table() {
    // Broken if an override were ignored, if it held for another upstream, or if the cache's price of the list that it
    // replaces went on.
    let file = |models: &str| {
        format!(
            "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.openai.com/v1\"\n\
             [[upstream]]\nname = \"spare\"\nbase_url = \"http://127.0.0.1:9/v1\"\n{models}"
        )
    };
    let prices = Prices::builtin()
        .with_overrides(
            "seawall.toml",
            &file(
                "[[model]]\nname = \"gpt-4.1\"\nupstream = \"main\"\ninput = 1.0\n\
                 [[model]]\nname = \"gpt-6-sol\"\nupstream = \"main\"\nwindow = 1000\n\
                 [[model]]\nname = \"My-Deployment\"\nupstream = \"spare\"\ninput = 0\noutput = 0\n",
            ),
        )
        .unwrap();
    let found = prices.find("main/gpt-4.1").unwrap();
    assert_eq!((found.name, found.source), ("main/gpt-4.1", Source::Own));
    assert_eq!(
        (found.terms.input, found.terms.output),
        (Some(1_000_000), Some(8_000_000))
    );
    assert_eq!(
        (found.terms.cached_input, found.terms.window),
        (None, Some(1_047_576))
    );
    let window = prices
        .find_at("main", "api.openai.com", "gpt-6-sol")
        .unwrap()
        .terms;
    assert_eq!((window.window, window.input), (Some(1_000), Some(2_000_000)));
    assert!(window.above.is_some() && window.cached_input.is_some());
    // Who says that it is free has said so.
    assert_eq!(
        prices.cost("spare/my-deployment", used(1, 1)),
        Cost::Priced(MicroUsd(0))
    );
    assert_eq!(prices.find("spare/gpt-4.1"), None);
    assert_eq!(prices.find("gpt-4.1").unwrap().source, Source::BuiltIn);
    let broken = Prices::builtin().with_overrides("seawall.toml", &file("[[model]]\nname = \"x\"\n"));
    assert!(broken.unwrap_err().to_string().contains("upstream"));
}

/// A file with one `[[model]]` for `main`, which is OpenAI.
fn override_of(model: &str, lines: &str) -> String {
    format!(
        "[[upstream]]\nname = \"main\"\nbase_url = \"https://api.openai.com/v1\"\n\
         [[model]]\nname = \"{model}\"\nupstream = \"main\"\n{lines}"
    )
}

#[test]
fn a_cache_costs_what_your_own_word_says_it_does() {
    // Broken if a price of cached input in the file were passed over, and the answer charged as if all were read anew; if
    // it held for the wrong part; or if a price that is not stated were nothing.
    let used = crate::ai::Usage {
        input: 10_000_000,
        output: 1_000_000,
        cached: 4_000_000,
        cache_written: 5_000_000,
        cache_written_1h: 3_000_000,
        reasoning: 0,
    };
    let told = [
        ("mine", "input = 1.0\noutput = 2.0"),
        ("mine", "input = 1.0\noutput = 2.0\ncached_input = 0.1"),
        ("mine", "input = 1.0\noutput = 2.0\ncached_input = 0"),
        ("mine", "input = 1.0\noutput = 2.0\ncache_write = 3.0"),
        ("mine", "input = 1.0\noutput = 2.0\nlong_cache_write = 7.0"),
        (
            "mine",
            "input = 1.0\noutput = 2.0\ncached_input = 0.1\ncache_write = 3.0\nlong_cache_write = 7.0",
        ),
        // Over the table's: 2, 8 and 0.5 for a GPT-4.1.
        ("gpt-4.1", "window = 1000"),
        ("gpt-4.1", "cached_input = 0.25"),
        ("gpt-4.1", "input = 2.0"),
        // Without a price of input nobody knows what the rest of it costs.
        ("mine", "output = 2.0\ncached_input = 0.1"),
    ]
    .map(|(model, lines)| {
        let prices = Prices::builtin()
            .with_overrides("seawall.toml", &override_of(model, lines))
            .unwrap();
        let cost = prices.cost(&format!("main/{model}"), used);
        format!("{model} {}: {cost}", lines.replace('\n', ", "))
    })
    .join("\n");
    expect![[r#"
        mine input = 1.0, output = 2.0: $13.25
        mine input = 1.0, output = 2.0, cached_input = 0.1: $9.65
        mine input = 1.0, output = 2.0, cached_input = 0: $9.25
        mine input = 1.0, output = 2.0, cache_write = 3.0: $16.75
        mine input = 1.0, output = 2.0, long_cache_write = 7.0: $30.5
        mine input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 3.0, long_cache_write = 7.0: $30.4
        gpt-4.1 window = 1000: $24.5
        gpt-4.1 cached_input = 0.25: $23.5
        gpt-4.1 input = 2.0: $30.5
        mine output = 2.0, cached_input = 0.1: unpriced: nobody says what this model charges for what it reads; write a [[model]] with its prices"#]].assert_eq(&told);
}

#[test]
fn a_price_that_is_none_is_an_error_with_its_place() {
    // Broken if a price below nothing, without an end or beyond all sums were taken, bent into range, or read as not
    // stated: the cheapest model of a route would be the one with the slip of the pen.
    let keys = [
        "input",
        "output",
        "cached_input",
        "cache_write",
        "long_cache_write",
    ];
    let values = [
        "-0.5",
        "nan",
        "-nan",
        "inf",
        "-inf",
        "1e300",
        "1000000.000001",
        "99999999999999999999",
        "0.0000001",
        "\"1\"",
        "true",
    ];
    for key in keys {
        for value in values {
            let text = override_of("mine", &format!("{key} = {value}"));
            let error = Prices::builtin()
                .with_overrides("prices.toml", &text)
                .unwrap_err()
                .to_string();
            assert!(error.contains("prices.toml:7:"), "{key} = {value}: {error}");
        }
    }
    let told = values.map(|value| {
        let text = override_of("mine", &format!("cached_input = {value}"));
        Prices::builtin()
            .with_overrides("prices.toml", &text)
            .unwrap_err()
            .to_string()
    });
    expect![[r#"
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found -0.5
          |
        7 | cached_input = -0.5
          |                ^^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found nan
          |
        7 | cached_input = nan
          |                ^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found -nan
          |
        7 | cached_input = -nan
          |                ^^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found inf
          |
        7 | cached_input = inf
          |                ^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found -inf
          |
        7 | cached_input = -inf
          |                ^^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found 1e300
          |
        7 | cached_input = 1e300
          |                ^^^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: model.cached_input is 1000000.000001; it may be 0 to 1000000
          |
        7 | cached_input = 1000000.000001
          |                ^^^^^^^^^^^^^^
          = the default is as much as input
        prices.toml:7:16: 99999999999999999999 is too large
          |
        7 | cached_input = 99999999999999999999
          |                ^^^^^^^^^^^^^^^^^^^^
          = the default is as much as input
        prices.toml:7:16: expected US dollars such as 0.42 with at most 6 decimal places, found 0.0000001
          |
        7 | cached_input = 0.0000001
          |                ^^^^^^^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42, found a string
          |
        7 | cached_input = "1"
          |                ^^^
          = write it as in cached_input = 0.04
        prices.toml:7:16: expected US dollars such as 0.42, found a boolean
          |
        7 | cached_input = true
          |                ^^^^
          = write it as in cached_input = 0.04"#]]
    .assert_eq(&told.join("\n"));
}

proptest! {
    #[test]
    fn more_tokens_never_cost_less(
        row in 0..900_usize,
        parts in prop::array::uniform5(0..2_000_000_u64),
        more in prop::array::uniform5(0..2_000_000_u64),
    ) {
        // Broken if a sum wrapped, or if a threshold made a longer prompt cheaper than a shorter one.
        let of = |[input, cached_input, cache_write, long_cache_write, output]: [u64; 5]| Billed {
            input, cached_input, cache_write, long_cache_write, output,
        };
        let line = table::rows().lines().nth(row).unwrap();
        let (name, terms) = table::read(line);
        let sum = std::array::from_fn(|at| parts[at] + more[at]);
        match (terms.cost(of(parts)), terms.cost(of(sum))) {
            (Cost::Priced(less), Cost::Priced(more)) => prop_assert!(less <= more, "{name}: {less} and {more}"),
            (Cost::Priced(_), Cost::Unpriced(_)) => {}
            (Cost::Unpriced(why), after) => prop_assert_eq!(Cost::Unpriced(why), after),
        }
    }

    #[test]
    fn any_name_is_looked_for_without_a_panic(name in "\\PC{0,40}", upstream in "\\PC{0,8}", host in "\\PC{0,20}") {
        // Broken if a name of other letters were cut inside one of them.
        let prices = Prices::builtin();
        let _ = prices.find(&name);
        let _ = prices.find_at(&upstream, &host, &name);
    }
}

#[test]
fn a_window_that_a_call_fills_to_the_last_token_is_large_enough() {
    // Broken if a call that fits were sent to a dearer model, or one that does not to any.
    let prices = Prices::builtin();
    let window = prices.find("gpt-4").and_then(|listing| listing.terms.window);
    let window = window.expect("the table has it");
    for (output, too_small) in [(100, 0), (101, 1)] {
        let used = Billed {
            input: window - 100,
            output,
            ..Billed::default()
        };
        assert_eq!(
            prices.order(["gpt-4"], used).too_small.len(),
            too_small,
            "{output}"
        );
    }
}

#[test]
fn two_prices_of_one_model_are_refused_however_its_name_is_written() {
    // Breaks when names that are compared here without their letters' case are compared with it where the file is read:
    // the later of two tables is then the price, and nobody is told.
    let text = r#"
        [[upstream]]
        name = "main"
        base_url = "https://ai.example.com/v1"
        [[model]]
        name = "small"
        upstream = "main"
        input = 1.0
        [[model]]
        name = "Small"
        upstream = "main"
        input = 2.0
    "#;
    let error = Prices::builtin()
        .with_overrides("seawall.toml", text)
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("line 6 says already what `main/Small` is"),
        "{error}"
    );
}
