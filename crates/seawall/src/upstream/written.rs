//! An upstream as a `seawall.toml` describes it.

use super::UpstreamBuilder;
use crate::config::{Speaks, UpstreamConfig};
use crate::http::{RequestError, Secret};
use http::{HeaderName, Uri};
use seawall_core::profile::Provider;

impl UpstreamBuilder {
    /// As the file describes it: name, dialect, policy, classification, and what it shares with others. Everything but its
    /// address, with which this was begun, and its key, which the file only names
    /// ([`UpstreamConfig::key_header`]).
    pub fn as_written(mut self, written: &UpstreamConfig) -> Self {
        self = self
            .name(&written.name.value)
            .policy(*written.policy.policy())
            .classify(written.classify.clone());
        if let Some(provider) = written.dialect() {
            self = self.provider(provider);
        }
        if let Some(quota) = &written.quota {
            self = self.quota(quota.value.as_str());
        }
        if let Some(parent) = &written.parent {
            self = self.parent(parent.value.as_str());
        }
        if let Some(dedup) = &written.dedup {
            self = self.dedup(dedup.value.as_str());
        }
        let header = written.idempotency.as_ref().map(|header| header.value.as_bytes());
        // The file was read: it is a header's name.
        if let Some(Ok(header)) = header.map(HeaderName::from_bytes) {
            self = self.idempotency(header);
        }
        self
    }
}

impl UpstreamConfig {
    /// The dialect that the file says, or that its host tells; where neither does, a call's path tells it.
    pub fn dialect(&self) -> Option<Provider> {
        match self.provider.as_ref().map(|provider| provider.value) {
            Some(Speaks::Provider(provider)) => Some(provider),
            Some(Speaks::Seawall) => None,
            None => {
                let uri: Option<Uri> = self.base_url.value.parse().ok();
                let known = Provider::inferred(uri.as_ref().and_then(Uri::host), "/");
                Some(known).filter(|known| *known != Provider::Generic)
            }
        }
    }

    /// Its key, in the header in which its dialect is sent one. Where neither file nor host says which dialect that is,
    /// the address's path may: an Azure deployment behind another host.
    ///
    /// # Errors
    /// A key that no header can carry; the error does not repeat it.
    pub fn key_header(&self, key: &str) -> Result<(HeaderName, Secret), RequestError> {
        let provider = self.dialect().unwrap_or_else(|| {
            let uri: Option<Uri> = self.base_url.value.parse().ok();
            let host = uri.as_ref().and_then(Uri::host);
            Provider::inferred(host, uri.as_ref().map_or("/", Uri::path))
        });
        Secret::for_provider(provider, key)
    }
}
