use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_callers_and_servers_do_no_law_breaks(bytes in proptest::collection::vec(any::<u8>(), 0..1_200)) {
        // Could break wherever one state forgets what another took.
        if let Err(law) = check(&bytes) {
            return Err(TestCaseError::fail(law));
        }
    }
}
