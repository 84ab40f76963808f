//! Tests of the whole product over real sockets; all of it stands in `tests/it`; and the Rust that the README and
//! the guide show.
//!
//! What can go wrong where each part is tested alone: the engine waits as it should, and the loop around it sends a
//! byte too early; the adapter names each break, and the table reads another name. So here the live library calls
//! servers that fail on purpose, on one clock that is cranked: hours of waiting take no time, and no test sleeps.

/// The README's Rust is compiled as a test: an example that does not compile is the first that is copied.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// As is the first page of the crate, which cannot see the mock from where it stands.
#[cfg(doctest)]
#[doc = include_str!("../../seawall/src/lib.md")]
pub struct CratePage;

/// As are the recipes for those who come from another library.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/comparison.md")]
pub struct Comparison;

/// Every block of Rust in the guide is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
pub struct LibraryGuide;

/// Every block of Rust in the guide is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/any-call.md")]
pub struct AnyCallGuide;

/// As is the Rust of the page on routes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/routes.md")]
pub struct RoutesGuide;

/// As is the Rust of the page on limits.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/limits.md")]
pub struct LimitsGuide;

/// As is that of the page on models and money.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/models-and-money.md")]
pub struct ModelsGuide;

/// As is that of the page on AI APIs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/ai.md")]
pub struct AiGuide;

/// As is that of the page on tower's layers.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/tower.md")]
pub struct TowerGuide;

/// As is that of the page on reqwest.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/reqwest.md")]
pub struct ReqwestGuide;

/// As is that of the page on mocks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/mock-in-tests.md")]
pub struct MockGuide;
