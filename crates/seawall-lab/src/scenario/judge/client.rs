//! What is expected of a program under test, beside what the mock saw of it.

use super::{Check, Court, broken};
use crate::findings::{Content, Finding, Proof};
use crate::scenario::{ClientSeen, End, ExitIs, Written};

/// The most of an output that a finding quotes, in characters, from its end.
const TAIL_CHARS_MAX: usize = 400;

impl Court<'_> {
    pub(super) fn client(&self, checks: &mut Vec<Check>) {
        let expect = self.expect();
        let at = expect.exit.as_ref().map(|written| written.at.clone());
        let exit = expect.exit.as_ref().map(|written| written.value);
        checks.push(Check {
            what: "client".to_owned(),
            at,
            findings: self.of_clients(|client| ended(client, exit)),
        });
        let texts = [("stdout", &expect.stdout), ("stderr", &expect.stderr)];
        for (what, written) in texts
            .into_iter()
            .flat_map(|(what, texts)| texts.iter().map(move |text| (what, text)))
        {
            checks.push(self.output(what, written));
        }
    }

    fn output(&self, what: &str, written: &Written<String>) -> Check {
        let missing = |client: &ClientSeen| {
            let output = if what == "stdout" {
                &client.stdout
            } else {
                &client.stderr
            };
            let seen = format!("{what} is {}", tail(output));
            let expected = format!("`{}` in {what}", written.value);
            (!output.contains(&written.value)).then(|| broken(None, expected, seen, Proof::None))
        };
        Check {
            what: format!("{what} has `{}`", written.value),
            at: Some(written.at.clone()),
            findings: self.of_clients(missing),
        }
    }

    fn of_clients(&self, look: impl Fn(&ClientSeen) -> Option<Finding>) -> Vec<Finding> {
        let found = |(number, client): (usize, Option<&ClientSeen>)| {
            let finding = match client {
                Some(client) => look(client)?,
                None => broken(None, "a run of the client", "nothing is known of it", Proof::None),
            };
            Some(Finding {
                run: Some(number),
                ..finding
            })
        };
        let clients = self.seen().map(|(number, run, _)| (number, run.client.as_ref()));
        clients.filter_map(found).collect()
    }
}

fn ended(client: &ClientSeen, exit: Option<ExitIs>) -> Option<Finding> {
    let fits = match (&client.end, exit) {
        (End::Exit(_), None) | (End::TimedOut, Some(ExitIs::TimedOut)) => true,
        (End::Exit(code), Some(ExitIs::Code(expected))) => *code == expected,
        (End::Exit(code), Some(ExitIs::NotZero)) => *code != 0,
        (End::Exit(_), Some(ExitIs::TimedOut)) | (End::Signal(_) | End::TimedOut, None | Some(_)) => false,
    };
    let expected = exit.map_or_else(
        || "a client that ends by itself".to_owned(),
        |exit| exit.to_string(),
    );
    let seen = match &client.end {
        End::Exit(code) => format!("exit code {code}; stderr is {}", tail(&client.stderr)),
        End::Signal(signal) => format!("signal {signal} ended it; stderr is {}", tail(&client.stderr)),
        End::TimedOut => format!(
            "it was killed after {}; stderr is {}",
            client.took,
            tail(&client.stderr)
        ),
    };
    (!fits).then(|| broken(None, expected, seen, Proof::None))
}

/// Whether a client was content in the end.
pub(super) fn content(client: &ClientSeen) -> Content {
    match client.end {
        End::Exit(0) => Content::Content,
        End::Exit(_) => Content::Complained,
        End::Signal(_) | End::TimedOut => Content::Unknown,
    }
}

/// The end of a text, in quotes.
fn tail(text: &str) -> String {
    let text = text.trim_end();
    let skipped = text.chars().count().saturating_sub(TAIL_CHARS_MAX);
    match (text.is_empty(), skipped) {
        (true, _) => "empty".to_owned(),
        (false, 0) => format!("`{text}`"),
        (false, _) => format!("`…{}`", text.chars().skip(skipped).collect::<String>()),
    }
}
