//! What is fine stays without a warning: advice that cries wolf is switched off.

use super::*;
use proptest::prelude::*;
use seawall_core::policy::Preset;

#[test]
fn no_preset_is_warned_about() {
    // The product must not complain about what it recommends itself.
    for preset in Preset::ALL {
        for provider in ["openai", "generic", "stripe"] {
            let file = format!(
                "policy = {{ preset = \"{}\" }}\n[[upstream]]\nname = \"main\"\nbase_url = \"https://x.example\"\n\
                 provider = \"{provider}\"\n",
                preset.name()
            );
            warns(&file, &none(), expect![[""]]);
            let busy = none()
                .calls(None, rate("50"))
                .capacity(None, rate("100"))
                .processes(2);
            warns(&file, &busy, expect![[""]]);
        }
    }
}

#[test]
fn a_careful_file_is_not_warned_about() {
    // Fallback, limits, keys and models as they should be.
    let file = r#"
[policy]
retries = 4
deadline = "90s"
budget = { ratio = 0.2, floor = 0.2, window = "5s" }
breaker = { failure_rate = 0.5, consecutive = 8 }
timeouts = { first_byte = "20s" }
limits = { concurrency = 32, tokens_per_minute = 200000 }

[[upstream]]
name = "main"
base_url = "https://api.openai.com/v1"
credential = { env = "MAIN_KEY" }
quota = "team"

[[upstream]]
name = "spare"
base_url = "https://api.anthropic.com/v1"
credential = { env = "SPARE_KEY" }
classify = [{ status = 446, as = "failed" }]

[[model]]
name = "big"
upstream = "main"
output = 10.0
window = 128000

[[model]]
name = "large"
upstream = "spare"
output = 15.0
window = 200000

[[route]]
match = { path = "/v1/chat/completions" }
to = ["main/big", "spare/large"]
replay = "declared"
max_price = 20.0
"#;
    warns(file, &none(), expect![[""]]);
    let busy = none().calls(None, rate("20")).capacity(None, rate("40"));
    warns(file, &busy, expect![[""]]);
}

proptest! {
    /// Advice never panics and never says nothing, whatever a valid policy holds and whatever comes in.
    #[test]
    fn any_policy_and_any_traffic_have_their_sentences(
        retries in 0_u32..=100,
        deadline_ms in 1_u64..100_000_000,
        base_ms in 1_u64..10_000,
        factor in 10_u32..=100,
        ratio in 0_u32..=10_000,
        floor in 0_u64..=1_000_000_000,
        window in 1_u64..=3_600,
        failures in 1_u32..=1_000,
        min_calls in 1_u32..=1_000_000,
        consecutive in 1_u32..=1_000_000,
        calls in 1_u64..=u64::MAX,
        capacity in 1_u64..=u64::MAX,
        processes in 0_u32..=u32::MAX,
    ) {
        let file = format!(
            "[policy]\nretries = {retries}\ndeadline = \"{deadline_ms}ms\"\n\
             backoff = {{ base = \"{base_ms}ms\", factor = {}.{}, cap = \"{}ms\" }}\n\
             budget = {{ ratio = {}, floor = {}, window = \"{window}s\" }}\n\
             breaker = {{ failure_rate = {}, min_calls = {min_calls}, consecutive = {consecutive} }}\n",
            factor / 10,
            factor % 10,
            base_ms * 7,
            decimal(ratio.into()),
            decimal(floor),
            decimal(failures.into()),
        );
        let traffic = none()
            .calls(None, Rate::from_milli(calls))
            .capacity(None, Rate::from_milli(capacity))
            .processes(processes);
        for traffic in [none(), traffic] {
            let all = advice(&file, &traffic);
            prop_assert!(all.iter().any(|advice| advice.code == Code::WaitMax));
            for advice in all {
                prop_assert!(!advice.text.is_empty() && !advice.text.ends_with('.'), "{}", advice.text);
                prop_assert!(!advice.text.contains("  "), "{}", advice.text);
            }
        }
    }
}
