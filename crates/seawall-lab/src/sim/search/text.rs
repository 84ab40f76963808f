//! What a search has found, for people.

use super::found::{Found, Limit, Row};
use super::policy_table;
use std::fmt::Write as _;

/// Policies of the front that are shown; all of them are in the JSON.
const FRONT_SHOWN_MAX: usize = 12;

impl Found {
    /// For people, as lines that each end; the winner's table is the last.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}: {} runs of {} policies, seed {}\n",
            self.name, self.runs, self.candidates, self.seed
        );
        text.push_str(&self.table());
        text.push_str("\nconstraints\n");
        text.extend(self.constraints.iter().map(constraint));
        let Some(winner) = &self.winner else {
            let why = match self.front.is_empty() {
                true => "nothing has run",
                false => "no policy that ran meets every constraint",
            };
            let _ = writeln!(text, "\nno winner: {why}");
            return text;
        };
        let _ = writeln!(text, "\nbefore any run, closed forms say of {}:", winner.name);
        for finding in &self.precheck {
            let _ = writeln!(text, "  - {}", finding.text);
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
    fn table(&self) -> String {
        let mut lines = vec![HEAD.map(str::to_owned)];
        let mark = |row: &Row| match &self.winner {
            Some(winner) if winner == row => "*",
            Some(_) | None => "",
        };
        let shown = self.front.iter().take(FRONT_SHOWN_MAX);
        lines.extend(shown.map(|row| cells(mark(row), row)));
        let given = self.given.iter().filter(|row| !self.front.contains(row));
        lines.extend(given.map(|row| cells("-", row)));
        let widths: Vec<usize> = (0..HEAD.len())
            .map(|column| {
                let widths = lines.iter().map(|cells| cells[column].chars().count());
                widths.max().unwrap_or(0)
            })
            .collect();
        let mut text = "\n".to_owned();
        for cells in lines {
            let mut line = String::new();
            for (number, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let width = *width;
                let _ = match number {
                    0 | 1 => write!(line, "  {cell:<width$}"),
                    _ => write!(line, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(text, "{}", line.trim_end());
        }
        if let Some(more) = self.front.len().checked_sub(FRONT_SHOWN_MAX + 1) {
            let _ = writeln!(text, "  and {} more that nothing beats, in --json", more + 1);
        }
        text.push_str(
            "  * is the one, - are the file's own that others beat; load is attempts for each call\n",
        );
        text
    }
}

const HEAD: [&str; 9] = [
    "", "policy", "answered", "p99", "load", "recovery", "collapse", "cost", "misses",
];

fn cells(mark: &str, row: &Row) -> [String; 9] {
    let share = |share: f64| format!("{:.2} %", 100.0 * share);
    [
        mark.to_owned(),
        row.name.clone(),
        share(row.success_rate),
        row.p99_ms.map_or_else(String::new, |p99| format!("{p99:.0} ms")),
        format!("{:.3}", row.amplification),
        row.recovery_s
            .map_or_else(|| "never".to_owned(), |recovery| format!("{recovery:.1} s")),
        share(row.p_collapse),
        format!("${:.4}", row.cost_usd),
        row.unmet.join(", "),
    ]
}

fn constraint(limit: &Limit) -> String {
    let mut text = format!("  {}: {}", limit.name, limit.text);
    if limit.set_aside {
        text.push_str("; no policy does here, so it was left out\n");
        return text;
    }
    let _ = write!(text, "; kept out {}", limit.refused);
    if !limit.binds.is_empty() {
        let _ = write!(text, "; binds: {}", limit.binds.join(", "));
    }
    text.push('\n');
    text
}
