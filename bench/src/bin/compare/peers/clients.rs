//! Those that are clients of HTTP themselves.

use super::wrappers::http;
use super::{Flaw, send};
use crate::ask::{Ask, Calling, Client, Kind, Settings};
use async_openai::config::OpenAIConfig;
use async_openai::middleware::{ReqwestService, retry::OpenAIRetryLayer};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use seawall::seawall_core::profile::Provider;
use seawall::{Call, Duration, Policy, Upstream};
use std::sync::Mutex;
use tower::ServiceBuilder;

struct Seawall {
    upstream: Mutex<Option<Upstream>>,
    policy: Policy,
}

pub(super) fn seawall(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let length = |length: std::time::Duration| Duration::from(length);
    let policy = Policy::builder()
        .retries(settings.retries)
        .backoff_base(length(settings.base))
        .backoff_cap(length(settings.cap))
        .first_byte(length(settings.attempt))
        .deadline(length(settings.deadline))
        .concurrency(u32::try_from(settings.at_once).map_err(|error| error.to_string())?)
        .edit_breaker(|breaker| {
            let rest = length(settings.open_for);
            breaker.open_for(rest).open_max(rest)
        })
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Seawall {
        upstream: Mutex::new(None),
        policy,
    }))
}

impl Seawall {
    /// The one upstream that all calls share, and the call's path there.
    fn at(&self, ask: &Ask) -> (Upstream, String) {
        let url = ask.url();
        let path_at = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
        let (server, path) = url.split_at(path_at);
        let mut upstream = self.upstream.lock().expect("nobody panics with it");
        let upstream = upstream.get_or_insert_with(|| {
            let builder = Upstream::builder(server).expect("the mock's own address");
            builder
                .provider(Provider::OpenAi)
                .policy(self.policy)
                .build()
                .expect("a policy that was built")
        });
        (upstream.clone(), path.to_owned())
    }
}

impl Client for Seawall {
    fn call(&self, ask: Ask) -> Calling<'_> {
        let (upstream, path) = self.at(&ask);
        let call = match ask.kind {
            Kind::Read => Call::get(path),
            Kind::Write => Call::post_json(path, r#"{"amount":5}"#),
        };
        Box::pin(async move {
            match upstream.call(call).await {
                Ok(answer) => Ok(answer.status.as_u16()),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}

struct Reqwest(reqwest::Client);

pub(super) fn reqwest(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let retries = reqwest::retry::for_host("127.0.0.1")
        .max_retries_per_request(settings.retries)
        .classify_fn(|attempt| match attempt.status() {
            Some(status) if status.as_u16() == 429 || status.is_server_error() => attempt.retryable(),
            Some(_) => attempt.success(),
            None => attempt.retryable(),
        });
    let client = reqwest::Client::builder()
        .timeout(settings.deadline)
        .read_timeout(settings.attempt)
        .retry(retries)
        .build()
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Reqwest(client)))
}

impl Client for Reqwest {
    fn call(&self, ask: Ask) -> Calling<'_> {
        Box::pin(async move { send(&self.0, &ask).await.map_err(|flaw| flaw.to_string()) })
    }
}

struct ReqwestRetry(ClientWithMiddleware);

pub(super) fn reqwest_retry(settings: &Settings) -> Result<Box<dyn Client>, String> {
    let policy = ExponentialBackoff::builder()
        .retry_bounds(settings.base, settings.cap)
        .build_with_total_retry_duration_and_max_retries(settings.deadline, settings.retries);
    let client = ClientBuilder::new(http(settings)?)
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .build();
    Ok(Box::new(ReqwestRetry(client)))
}

impl Client for ReqwestRetry {
    fn call(&self, ask: Ask) -> Calling<'_> {
        Box::pin(async move {
            let begun = match ask.kind {
                Kind::Read => self.0.get(ask.url()),
                Kind::Write => self
                    .0
                    .post(ask.url())
                    .header("content-type", "application/json")
                    .body(r#"{"amount":5}"#),
            };
            let answer = begun.send().await.map_err(|error| error.to_string())?;
            let status = answer.status().as_u16();
            answer.bytes().await.map_err(|error| error.to_string())?;
            if status < 400 {
                Ok(status)
            } else {
                Err(Flaw::Status(status).to_string())
            }
        })
    }
}

/// A client a call, for the address is the client's; all over one pool of connections.
struct AsyncOpenai {
    http: reqwest::Client,
    retries: usize,
}

pub(super) fn async_openai(settings: &Settings) -> Result<Box<dyn Client>, String> {
    Ok(Box::new(AsyncOpenai {
        http: http(settings)?,
        retries: settings.retries as usize,
    }))
}

impl Client for AsyncOpenai {
    fn call(&self, ask: Ask) -> Calling<'_> {
        let config = OpenAIConfig::new().with_api_base(ask.base).with_api_key("none");
        let service = ServiceBuilder::new()
            .layer(OpenAIRetryLayer::new(self.retries))
            .service(ReqwestService::new(self.http.clone()));
        let client = async_openai::Client::with_config(config).with_http_service(service);
        Box::pin(async move {
            match client.models().list().await {
                Ok(_) => Ok(200),
                Err(error) => Err(error.to_string()),
            }
        })
    }
}
