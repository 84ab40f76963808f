use super::*;
use seawall_core::policy::Policy;
use seawall_core::time::Duration;

fn gate(builder: PolicyBuilder) -> GatePolicy {
    builder.build().unwrap().gate
}

#[test]
fn a_shared_gate_has_the_tightest_of_what_its_members_say_in_any_order() {
    // Could break if whoever came first, or last, decided for the others.
    let one = gate(
        Policy::builder()
            .concurrency(8)
            .queue(5)
            .requests_per_minute(Some(60))
            .tokens_in_per_minute(Some(9))
            .edit_budget(|budget| budget.ratio_per_mille(50).floor_milli(2_000)),
    );
    let other = gate(
        Policy::builder()
            .concurrency(Concurrency::Auto)
            .queue(50)
            .requests_per_minute(Some(6))
            .edit_budget(|budget| {
                let window = Duration::from_secs(5);
                budget.ratio_per_mille(100).floor_milli(500).window(window)
            }),
    );
    let silent = gate(Policy::builder().budget(None));
    for members in [[one, other, silent], [silent, other, one], [other, silent, one]] {
        let quota = Above::Quota.tightest(members.iter()).unwrap();
        let limits = quota.limits();
        assert_eq!(
            (limits.concurrency(), limits.queue()),
            (Concurrency::AtMost(8), 5)
        );
        assert_eq!(limits.rates().requests_per_minute(), Some(6));
        assert_eq!(limits.rates().tokens_in_per_minute(), Some(9));
        assert_eq!(limits.rates().tokens_per_minute(), None);
        assert!(quota.budget().is_none() && quota.breaker().is_none());
        let parent = Above::Parent.tightest(members.iter()).unwrap();
        let budget = parent.budget().unwrap();
        assert_eq!((budget.ratio_per_mille(), budget.floor_milli()), (50, 500));
        assert_eq!(budget.window(), Duration::from_secs(5));
        assert!(parent.breaker().is_none());
    }
    assert!(
        Above::Parent
            .tightest([silent].iter())
            .unwrap()
            .budget()
            .is_none()
    );
}
