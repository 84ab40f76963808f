//! Which of several models is the cheapest for one call.
//!
//! What can go wrong: models are compared by the price of a million tokens of output, and the call is all input; or one
//! without a price comes first, as if it were free. So they are compared by what this call will cost, and what nobody
//! prices comes last.

use super::{Billed, Cost, MicroUsd, Prices};

/// Models in the order in which to call them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Order<'n> {
    /// Those that take the call, the cheapest first.
    pub quotes: Vec<Quote<'n>>,
    /// Those whose window it is known not to fit.
    pub too_small: Vec<&'n str>,
}

/// What a call will cost at one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quote<'n> {
    /// The model, as it was named.
    pub name: &'n str,
    /// What it will cost.
    pub cost: Cost,
}

impl Prices {
    /// These models by what a call that is about to use so much will cost, the cheapest first. Of equal ones the earlier
    /// stays first; those without a price come last, as they were given.
    ///
    /// A model whose window is known to be smaller than what is read and written is left out, and named.
    ///
    /// ```
    /// use seawall::ai::prices::{Billed, Prices};
    /// let used = Billed { input: 10_000, output: 100, ..Billed::default() };
    /// let prices = Prices::builtin();
    /// let order = prices.order(["gpt-4.1", "gpt-4.1-nano", "mine", "gpt-4"], used);
    /// assert_eq!(order.quotes.iter().map(|quote| quote.name).collect::<Vec<_>>(), ["gpt-4.1-nano", "gpt-4.1", "mine"]);
    /// assert_eq!(order.too_small, ["gpt-4"]);
    /// ```
    pub fn order<'n>(&self, names: impl IntoIterator<Item = &'n str>, used: impl Into<Billed>) -> Order<'n> {
        let used = used.into();
        let needed = used.read().saturating_add(used.output);
        let mut order = Order::default();
        for name in names {
            let listing = self.find(name);
            if listing.is_some_and(|listing| listing.terms.window.is_some_and(|window| window < needed)) {
                order.too_small.push(name);
                continue;
            }
            let cost = self.cost(name, used);
            order.quotes.push(Quote { name, cost });
        }
        order.quotes.sort_by_key(|quote| match quote.cost {
            Cost::Priced(money) => (0, money),
            Cost::Unpriced(_) => (1, MicroUsd::default()),
        });
        order
    }
}
