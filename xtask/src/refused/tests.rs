use super::*;
use expect_test::expect;

#[test]
fn a_call_whose_errors_nobody_classifies_is_refused_with_what_to_do() {
    // Could break with a bound that hides the one that matters, or with a default that nobody asked for.
    let repo = Repo::open().expect("the repository can be read");
    let said = said(&repo, "unclassified").expect("cargo runs").join("\n\n");
    expect![[r#"
        nothing says which errors of type `Mine` are worth another attempt
          line 10: `Mine` is not `Classify`, and this call has no `.when(..)` and no `.classify(..)`
          for this call: `retry(..).when(|error| error.is_transient())`, or `.classify(|error| Failure::status(error.status()))`
          for every call: `impl seawall::Classify for Mine`

        nothing says which errors of type `Mine` are worth another attempt
          line 11: `Mine` is not `Classify`, and this call has no `.when(..)` and no `.classify(..)`
          for this call: `retry(..).when(|error| error.is_transient())`, or `.classify(|error| Failure::status(error.status()))`
          for every call: `impl seawall::Classify for Mine`

        a call of `seawall::blocking` is not awaited
          line 12: ends with `.call()`
          in async code: `seawall::retry(...).await`"#]].assert_eq(&said);
}

#[test]
fn a_function_that_the_attribute_takes_is_refused_where_it_says_what_is_wrong() {
    // Could break into errors at the attribute, or in code that nobody wrote.
    let repo = Repo::open().expect("the repository can be read");
    let said = said(&repo, "attributed").expect("cargo runs").join("\n\n");
    expect![[r#"
        nothing says which errors of type `Mine` are worth another attempt
          line 11: `Mine` is not `Classify`, and this call has no `.when(..)` and no `.classify(..)`
          for this call: `retry(..).when(|error| error.is_transient())`, or `.classify(|error| Failure::status(error.status()))`
          for every call: `impl seawall::Classify for Mine`

        `Mine` cannot say how a call ended
          line 16: `Mine` is not `From<RetryError<Mine>>`
          let the function say all of it: `-> Result<.., seawall::RetryError<Mine>>`
          or make its end one of its errors: `impl From<seawall::RetryError<Mine>> for Mine`

        the trait bound `Body: Clone` is not satisfied
          line 21: the trait `Clone` is not implemented for `Body`"#]].assert_eq(&said);
}
