//! The attribute of the crate `seawall`, which re-exports it: use it from there. Its example stands there too, where it can be
//! run.

mod expand;
mod words;

use proc_macro::TokenStream;

/// Makes each call of a function a call under a policy, or at a gate: as [`seawall::retry`](../seawall/fn.retry.html)
/// does with a closure, or for a `fn` without `async` as `seawall::blocking::retry` does.
///
/// The function's signature is what callers see. It returns a `Result<T, RetryError<E>>`, and its body fails with an `E`;
/// or it returns a `Result<T, E>` of an error that is made of its end: `E: From<RetryError<E>>` (`std::io::Error` is).
/// Methods, generics and lifetimes are as ever.
///
/// | word | says |
/// |---|---|
/// | `policy = "interactive"` | the preset of this name; or `policy = EXPR`, a `Policy` or what derefs to one. Shares nothing |
/// | `gate = EXPR` | a `Gate`, or what derefs to one: `gate = self.database` |
/// | `upstream = EXPR` | an `Upstream`, or what derefs to one |
/// | `deadline = "20s"`, `total = "2s"` | the limits of a call and of an attempt; or a `Duration` |
/// | `retries_max = 3` | fewer retries than the policy's |
/// | `when = PATH`, `classify = PATH`, `classify_by = EXPR`, `hint = PATH` | of errors, as the methods of those names |
/// | `notify = PATH` | who hears of waits |
/// | `replay = "unsafe"` | what a repeat would do: `idempotent`, `keyed`, `declared` (unless it is said), `unsafe` |
///
/// One of the first three is a must. Everything else is as in `retry(..)`; what needs to know of its attempt, to reject
/// answers or to hold its place uses that.
///
/// **Each attempt has its own arguments**: they are cloned for it, which for references and numbers is a copy. What is
/// costly to clone, or cannot be, is taken by reference. An `async` function takes nothing by `&mut`, for two attempts
/// would share it.
#[proc_macro_attribute]
pub fn retry(words: TokenStream, function: TokenStream) -> TokenStream {
    expand::expand(words.into(), function.into()).into()
}
