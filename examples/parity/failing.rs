//! Row 19: the failing path runs before the outage does. A mock that fails by a script, and what must come of it.
use seawall::{Call, Upstream};
use seawall_lab::net::Mock;
use std::error::Error;

pub const MOCK: &str = "
    [[route]]
    match = 'POST /v1/payments'
    resource = 'payments'
    idempotency = { header = 'Idempotency-Key' }
    script = '2x 503, 429 retry-after=5, apply then reset, 200 delay=15s'
";

pub async fn run(mock: &Mock, bank: &Upstream) -> Result<u16, Box<dyn Error>> {
    let pay = Call::post_json("/v1/payments", r#"{"amount":499}"#).with_key("order-7".parse()?);
    let status = bank.call(pay).await?.status.as_u16();
    mock.verify(
        "attempts = { '/v1/payments' = 5 }
         same_key = true
         resources = { payments = 1 }
         never = ['retry-before-hint', 'new-key', 'duplicate-write', 'overlap']",
    )
    .await?;
    Ok(status)
}
