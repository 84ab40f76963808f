//! What a `seawall.toml` says of a batch: where its rows go, by which policy, and defaults of its arguments.
//!
//! What can go wrong: a setting that is read and not obeyed spends money that it was meant to bound, and one that is
//! read where nobody looked for it changes a run in secret. So the file is read where it was named, or where a bare name
//! must be looked up; what was typed stands before what was written; and a setting of policy or batch that nothing
//! obeys yet is refused.

use super::{Args, Showing};
use crate::failure::Failure;
use crate::files::{read_config, read_key};
use crate::named::{FILE, is_name, obeyed, upstream};
use seawall::config::{Config, PolicyConfig, ProgressForm, UpstreamConfig, Written};
use seawall::http::Secret;
use seawall::upstream::UpstreamBuilder;
use seawall_core::profile::Provider;
use std::num::NonZeroU64;
use std::path::Path;

/// A batch's part of a file.
pub(super) struct FromFile {
    config: Config,
    upstream: Option<UpstreamConfig>,
}

impl FromFile {
    /// The file that the arguments name, or that the name of their upstream needs; and the arguments with its defaults.
    pub(super) fn read(args: &Args) -> Result<(Option<Self>, Args), Failure> {
        let named = args.upstream.as_deref().filter(|to| is_name(to));
        let path = match (&args.config, named) {
            (Some(path), _) => path.as_path(),
            (None, Some(name)) if !Path::new(FILE).exists() => {
                return Err(Failure::usage(format!(
                    "--upstream {name}: this is no address, and there is no {FILE} here that has an upstream of this \
                     name; write https://… or mock:flaky, or name the file by --config"
                )));
            }
            (None, Some(_)) => Path::new(FILE),
            (None, None) => return Ok((None, args.clone())),
        };
        let config = read_config(path)?;
        obeyed(&config, &["policy", "batch"])?;
        let mut args = args.clone();
        defaults(&mut args, &config);
        let upstream = match args.upstream.as_deref().filter(|to| is_name(to)) {
            Some(name) => Some(upstream(&config, name)?.clone()),
            None => None,
        };
        if let Some(upstream) = &upstream {
            args.provider = args
                .provider
                .or_else(|| Some(upstream.dialect()?.name().to_owned()));
            args.upstream = Some(upstream.base_url.value.clone());
        }
        Ok((Some(Self { config, upstream }), args))
    }

    /// The policy that holds: the upstream's own over `[policy]`, or `[policy]` for rows that go elsewhere.
    pub(super) fn policy(&self) -> &PolicyConfig {
        self.upstream
            .as_ref()
            .map_or(&self.config.policy, |upstream| &upstream.policy)
    }

    /// All that the file says of the upstream that was named, and its key.
    pub(super) fn describe(&self, builder: UpstreamBuilder, args: &Args) -> Result<UpstreamBuilder, Failure> {
        let Some(upstream) = &self.upstream else {
            return Ok(builder);
        };
        let builder = builder.as_written(upstream);
        let typed = args.credential_env.is_some();
        let Some(credential) = upstream.credential.as_ref().filter(|_| !typed) else {
            return Ok(builder);
        };
        let (key, from) = read_key(&credential.value, self.config.file())?;
        let sent = match args.provider.as_deref().and_then(Provider::named) {
            Some(provider) => Secret::for_provider(provider, &key),
            None => upstream.key_header(&key),
        };
        let (header, secret) =
            sent.map_err(|error| Failure::Key(format!("the key {from} cannot be sent: {error}")))?;
        Ok(builder.credential(header, secret))
    }

    /// What it is, in a sentence for those who look closely.
    pub(super) fn told(&self) -> String {
        let (file, preset) = (self.config.file(), self.policy().preset().name());
        match &self.upstream {
            Some(upstream) => format!(
                "the policy is that of upstream {} in {file}, over the preset {preset}",
                upstream.name.value
            ),
            None => format!("the policy is that of {file}, over the preset {preset}"),
        }
    }
}

/// Puts what `[batch]` says where nothing was typed.
fn defaults(args: &mut Args, config: &Config) {
    fn value<T: Clone>(written: &Option<Written<T>>) -> Option<T> {
        written.as_ref().map(|written| written.value.clone())
    }
    let batch = &config.batch;
    args.upstream = args.upstream.take().or_else(|| value(&batch.upstream));
    args.model = args.model.take().or_else(|| value(&batch.model));
    args.concurrency = args.concurrency.or_else(|| value(&batch.concurrency));
    args.rpm = args.rpm.or_else(|| NonZeroU64::new(value(&batch.rpm)?));
    args.tpm = args.tpm.or_else(|| NonZeroU64::new(value(&batch.tpm)?));
    args.max_line = args
        .max_line
        .take()
        .or_else(|| value(&batch.line_bytes_max).map(|bytes| bytes.to_string()));
    args.progress = args.progress.or_else(|| {
        Some(match value(&batch.progress)? {
            ProgressForm::Bar => Showing::Bar,
            ProgressForm::Json => Showing::Json,
            ProgressForm::Off => Showing::None,
        })
    });
    args.skip_invalid |= value(&batch.skip_invalid).unwrap_or(false);
    args.allow_absolute_url |= value(&batch.allow_absolute_url).unwrap_or(false);
    args.extras |= value(&batch.extras).unwrap_or(false);
}
