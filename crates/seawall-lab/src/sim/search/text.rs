//! What a search has found, for people.

use super::found::{Figures, Found, Limit, Row};
use super::policy_table;
use crate::sim::report::figures::{dollars, percent};
use std::fmt::Write as _;

/// Policies of the front that are shown; all of them are in the JSON.
const FRONT_SHOWN_MAX: usize = 12;
/// Policies that an assert kept out and that are named; all of them are in the JSON.
const KEPT_OUT_SHOWN_MAX: usize = 6;

impl Found {
    /// For people, as lines that each end; the winner's table is the last.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}: {} runs of {} policies, up to {} from {}\n",
            self.name,
            self.runs,
            self.candidates,
            seeds(self.seeds),
            self.seed
        );
        text.push_str(&self.front_table());
        text.push_str(&self.held_out());
        text.push_str("\nconstraints\n");
        text.extend(self.constraints.iter().map(constraint));
        if !self.notes.is_empty() {
            text.push_str("\nnotes\n");
            text.extend(self.notes.iter().map(|note| format!("  - {note}\n")));
        }
        let Some(winner) = &self.winner else {
            let why = match self.candidates {
                0 => "nothing has run",
                _ => "no policy that ran meets every constraint",
            };
            let _ = writeln!(text, "\nno winner: {why}");
            return text;
        };
        if !self.precheck.is_empty() {
            let _ = writeln!(text, "\nbefore any run, closed forms say of {}:", winner.name);
            for finding in &self.precheck {
                let _ = writeln!(text, "  - {}", finding.text);
            }
        }
        let _ = write!(
            text,
            "\n# {}, found by a search of {} runs\n{}",
            winner.name,
            self.runs,
            policy_table(&winner.policy)
        );
        text
    }

    /// The front and the scenario's own policies, one a line.
    fn front_table(&self) -> String {
        let shown = self.front.iter().take(FRONT_SHOWN_MAX);
        let given = self.given.iter().filter(|row| !self.front.contains(row));
        let rows = shown.chain(given).map(|row| {
            let mut misses = row.figures.unmet.clone();
            misses.extend(row.breaks.iter().map(|name| (*name).to_owned()));
            self.cells(row, &row.figures, &misses)
        });
        let mut text = self.table(rows.collect());
        if let Some(more) = self.front.len().checked_sub(FRONT_SHOWN_MAX + 1) {
            let _ = writeln!(text, "  and {} more that nothing beats, in --json", more + 1);
        }
        text.push_str(
            "  * is the one, - are the file's own that are not chosen; load is attempts for each call\n",
        );
        text
    }

    /// What seeds say that nothing was chosen by.
    fn held_out(&self) -> String {
        let Some(proof) = &self.proof else {
            return match &self.winner {
                Some(_) => "\nnot held to other seeds: the search did not come to that\n".to_owned(),
                None => String::new(),
            };
        };
        let mut text = format!(
            "\nwith {} from {}, which nothing was chosen by\n",
            seeds(proof.seeds),
            proof.seed
        );
        let others = self.given.iter().filter(|row| !self.front.contains(row));
        let rows = self.front.iter().chain(others).filter_map(|row| {
            let figures = row.held_out.as_ref()?;
            Some(self.cells(row, figures, &figures.unmet))
        });
        text.push_str(&self.table(rows.collect()));
        let _ = writeln!(text, "  {}", proof.text());
        if let Some(beside) = &proof.beside {
            let told = [
                ("success_rate", "answered", 100.0, " points"),
                ("amplification", "load", 1.0, ""),
            ];
            let told = told.into_iter().filter_map(|(name, word, times, unit)| {
                let of = beside.differences.get(name)?;
                let (mean, low, high) = (times * of.mean, times * of.ci.low, times * of.ci.high);
                Some(format!("{word} {mean:+.3}{unit} ({low:+.3} to {high:+.3})"))
            });
            let told: Vec<String> = told.collect();
            let _ = writeln!(
                text,
                "  beside {}, seed by seed: {}",
                beside.than,
                told.join(", ")
            );
        }
        text
    }

    fn cells(&self, row: &Row, figures: &Figures, misses: &[String]) -> Vec<String> {
        let mark = match &self.winner {
            Some(winner) if winner == row => "*",
            Some(_) | None if self.front.contains(row) => "",
            Some(_) | None => "-",
        };
        // Lines of a terminal are cut at no space, and searched for words with plain ones.
        let plain = |text: String| text.replace('\u{a0}', " ");
        let share = |share: f64| plain(percent(share));
        let time = |ms: f64| format!("{ms:.0} ms");
        let mut cells = vec![
            mark.to_owned(),
            row.name.clone(),
            share(figures.success_rate),
            figures.answered_99_ms.map_or_else(|| "never".to_owned(), time),
            figures.p99_ms.map_or_else(String::new, time),
            format!("{:.3}", figures.amplification),
            figures.p_collapse.map_or_else(|| "–".to_owned(), share),
        ];
        if self.tells.recovery {
            let recovery = figures.recovery_s.map(|recovery| format!("{recovery:.1} s"));
            cells.push(recovery.unwrap_or_else(|| "never".to_owned()));
        }
        if self.tells.cost {
            cells.push(plain(dollars(figures.cost_usd)));
        }
        cells.push(misses.join(", "));
        cells
    }

    fn table(&self, rows: Vec<Vec<String>>) -> String {
        let mut head = vec!["", "policy", "answered", "99 % within", "p99", "load", "collapse"];
        if self.tells.recovery {
            head.push("recovery");
        }
        if self.tells.cost {
            head.push("cost");
        }
        head.push("misses");
        let mut lines = vec![head.into_iter().map(str::to_owned).collect::<Vec<_>>()];
        lines.extend(rows);
        let width = |column: usize| {
            let widths = lines.iter().map(|cells| cells[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
        let mut text = "\n".to_owned();
        for cells in lines {
            let mut line = String::new();
            for (number, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let width = *width;
                let _ = match number {
                    number if number < 2 || number + 1 == widths.len() => write!(line, "  {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

fn seeds(count: u32) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} seed{s}")
}

fn constraint(limit: &Limit) -> String {
    let mut text = format!("  {}: {}", limit.name, limit.text);
    if limit.set_aside {
        text.push_str("; no policy does here, so it was left out\n");
        return text;
    }
    let _ = write!(text, "; kept out {}", limit.refused);
    let named = limit.binds.iter().take(KEPT_OUT_SHOWN_MAX);
    let named: Vec<&str> = named.map(String::as_str).collect();
    match limit.binds.len().saturating_sub(KEPT_OUT_SHOWN_MAX) {
        _ if limit.binds.is_empty() => {}
        0 => {
            let _ = write!(text, "; binds: {}", named.join(", "));
        }
        more => {
            let _ = write!(text, "; binds: {} and {more} more", named.join(", "));
        }
    }
    text.push('\n');
    text
}
