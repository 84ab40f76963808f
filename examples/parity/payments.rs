//! Row 11: a payment has one key, made before its first attempt. Without a key it is sent once, and told to a person.
use http::HeaderValue;
use seawall::upstream::UnknownWrite;
use seawall::upstream::UpstreamBuilder;
use seawall::{Call, Policy, Preset, Upstream};
use std::error::Error;

pub fn upstream(url: &str) -> Result<UpstreamBuilder, Box<dyn Error>> {
    Ok(Upstream::builder(url)?
        .name("bank")
        .policy(Policy::preset(Preset::Writes)))
}

pub async fn run(bank: &Upstream, key: Option<HeaderValue>) -> Result<u16, Option<UnknownWrite>> {
    let pay = Call::post_json("/v1/payments", r#"{"amount":499}"#);
    let pay = match key {
        Some(key) => pay.with_key(key),
        None => pay,
    };
    match bank.call(pay).await {
        Ok(answer) => Ok(answer.status.as_u16()),
        Err(error) => Err(error.unknown), // `Some`: it may be done. One for the reconciliation job.
    }
}
