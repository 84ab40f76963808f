use crate::failure::Failure;
use seawall::advice::{Rate, Traffic};
use seawall::config::Config;

/// What no file can say.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Your numbers")]
pub(super) struct Numbers {
    /// Calls a second that come in, for one upstream or for each; may be repeated.
    #[arg(long, value_name = "[UPSTREAM=]N", value_parser = of_upstream)]
    rate: Vec<(Option<String>, Rate)>,
    /// Attempts a second that an upstream takes, one or each; may be repeated.
    #[arg(long, value_name = "[UPSTREAM=]N", value_parser = of_upstream)]
    capacity: Vec<(Option<String>, Rate)>,
    /// Processes that share the calls.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    processes: u32,
}

impl Numbers {
    pub(super) fn read(&self, config: &Config) -> Result<Traffic, Failure> {
        once("--rate", &self.rate)?;
        once("--capacity", &self.capacity)?;
        let mut traffic = Traffic::default().processes(self.processes);
        for (upstream, rate) in &self.rate {
            traffic = traffic.calls(upstream.as_deref(), *rate);
        }
        for (upstream, rate) in &self.capacity {
            traffic = traffic.capacity(upstream.as_deref(), *rate);
        }
        let unknown = traffic.named().find(|name| config.upstream(name).is_none());
        match unknown.map(str::to_owned) {
            None => Ok(traffic),
            Some(unknown) => {
                let known: Vec<&str> = config
                    .upstreams
                    .iter()
                    .map(|upstream| upstream.name.value.as_str())
                    .collect();
                let known = match known.as_slice() {
                    [] => "the file has none".to_owned(),
                    known => format!("there are {}", known.join(", ")),
                };
                Err(Failure::usage(format!(
                    "{unknown} is no upstream of {}; {known}",
                    config.file()
                )))
            }
        }
    }
}

/// Refuses a second number for one upstream, or for each: whichever of the two counted, somebody meant the other.
fn once(option: &str, said: &[(Option<String>, Rate)]) -> Result<(), Failure> {
    for (nth, (upstream, rate)) in said.iter().enumerate() {
        let mut before = said[..nth].iter();
        if let Some((_, first)) = before.find(|(before, _)| before == upstream) {
            let whose = match upstream {
                Some(upstream) => format!("for {upstream}"),
                None => "for each upstream".to_owned(),
            };
            return Err(Failure::usage(format!(
                "{option} is {first} and {rate} {whose}; give one of them"
            )));
        }
    }
    Ok(())
}

fn of_upstream(text: &str) -> Result<(Option<String>, Rate), String> {
    let (upstream, rate) = match text.split_once('=') {
        Some(("", _)) => {
            return Err(
                "no upstream stands before the `=`; write main=5 for one, or 5 for each that is not named"
                    .to_owned(),
            );
        }
        Some((upstream, rate)) => (Some(upstream.to_owned()), rate),
        None => (None, text),
    };
    let rate = rate
        .parse()
        .map_err(|error: seawall::advice::RateError| error.to_string())?;
    Ok((upstream, rate))
}
