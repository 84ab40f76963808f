//! Which row is meant by a name.
//!
//! What can go wrong: one seller's price for another's, as the same model costs twice as much next door. So a row is
//! looked for at one seller, and a bare name at the makers of models alone, never at those that resell them.

use super::{Listing, Prices, Source, Terms, table};

/// Who sells what they make, in the order in which a bare name is looked for.
const MAKERS: [&str; 7] = [
    "openai",
    "anthropic",
    "gemini",
    "mistral",
    "xai",
    "deepseek",
    "cohere",
];

/// Whose API a host is: the seller's name in the table, such as `openai`, `azure` or `together`.
///
/// `None` is any other host, a proxy or a private server: nobody knows what it charges. Say it with
/// [`Prices::with_seller`] or with `[[model]]` tables.
pub fn seller_of_host(host: &str) -> Option<&'static str> {
    const HOSTS: [(&str, &str); 14] = [
        ("api.openai.com", "openai"),
        ("api.anthropic.com", "anthropic"),
        ("generativelanguage.googleapis.com", "gemini"),
        ("aiplatform.googleapis.com", "vertex"),
        ("api.mistral.ai", "mistral"),
        ("api.x.ai", "xai"),
        ("api.deepseek.com", "deepseek"),
        ("api.cohere.com", "cohere"),
        ("api.cohere.ai", "cohere"),
        ("api.groq.com", "groq"),
        ("api.together.xyz", "together"),
        ("api.together.ai", "together"),
        ("api.fireworks.ai", "fireworks"),
        ("eu.api.openai.com", "openai"),
    ];
    // Names with a place or a customer before them.
    const ENDS: [(&str, &str); 3] = [
        (".openai.azure.com", "azure"),
        (".cognitiveservices.azure.com", "azure"),
        ("-aiplatform.googleapis.com", "vertex"),
    ];
    let host = host.to_ascii_lowercase();
    let whole = HOSTS.iter().find(|(name, _)| *name == host);
    let by_end = || ENDS.iter().find(|(end, _)| host.ends_with(end));
    whole.or_else(by_end).map(|(_, seller)| *seller)
}

pub(super) fn find<'p>(prices: &'p Prices, name: &str) -> Option<Listing<'p>> {
    let name = name.to_ascii_lowercase();
    if let Some((place, model)) = name.split_once('/') {
        let seller = prices.sellers.get(place).map_or(place, String::as_str);
        let found = own(prices, &name, Some(seller), model).or_else(|| at_seller(seller, model));
        if found.is_some() {
            return found;
        }
    }
    MAKERS.iter().find_map(|maker| at_seller(maker, &name))
}

pub(super) fn find_at<'p>(
    prices: &'p Prices,
    upstream: &str,
    host: &str,
    model: &str,
) -> Option<Listing<'p>> {
    let (upstream, model) = (upstream.to_ascii_lowercase(), model.to_ascii_lowercase());
    let said = prices.sellers.get(&upstream).map(String::as_str);
    let seller = said.or_else(|| seller_of_host(host));
    own(prices, &format!("{upstream}/{model}"), seller, &model)
        .or_else(|| seller.and_then(|seller| at_seller(seller, &model)))
}

/// What a `[[model]]` says of `key`, over what the table says of the same model at the seller.
fn own<'p>(prices: &'p Prices, key: &str, seller: Option<&str>, model: &str) -> Option<Listing<'p>> {
    let (name, own) = prices.own.get_key_value(key)?;
    let below = seller.and_then(|seller| at_seller(seller, model));
    Some(Listing {
        name,
        source: Source::Own,
        terms: own.over(below.map_or(Terms::default(), |listing| listing.terms)),
    })
}

fn at_seller(seller: &str, model: &str) -> Option<Listing<'static>> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    // A fine-tuned model is sold by its base: `ft:base:team:name:id`.
    let tuned = model
        .strip_prefix("ft:")
        .and_then(|job| Some(&model[..3 + job.find(':')?]));
    let whole = tuned.unwrap_or(model);
    let row = |model: &str| table::row(&format!("{seller}/{model}"));
    let found = row(whole)
        .or_else(|| row(&whole.replacen('@', "-", 1)))
        .or_else(|| row(undated(whole)?));
    found.map(|(name, terms)| Listing {
        name,
        source: Source::BuiltIn,
        terms,
    })
}

/// The name without the date at its end; `None` where there is none.
fn undated(name: &str) -> Option<&str> {
    let is_date = |date: &str, form: &str| {
        date.len() == form.len()
            && date.bytes().zip(form.bytes()).all(|(byte, form)| {
                if form == b'0' {
                    byte.is_ascii_digit()
                } else {
                    byte == form
                }
            })
    };
    ["-0000-00-00", "-00000000", "@00000000"].iter().find_map(|form| {
        let (before, date) = name.split_at_checked(name.len().checked_sub(form.len())?)?;
        is_date(date, form).then_some(before)
    })
}
