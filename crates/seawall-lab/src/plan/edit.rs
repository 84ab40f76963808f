//! Rules that are put in, taken out and begun again while a mock runs.
//!
//! What can go wrong: an edit that begins every script again breaks the tests that run beside the one that edits. So
//! what an edit does not name stays where it is, with how far it has come. A route that is named begins at its first
//! step, also where it says what it said before: whoever states a route states what the next attempt meets.

use super::{Met, Pattern, Plan, Rule};

impl Plan {
    /// Puts rules in: each in the place of the first one with its pattern, else before all others, in their order.
    /// They begin at their first step.
    pub fn put(&mut self, new: Vec<Rule>) {
        let mut rules: Vec<Rule> = self.rules().map(|rule| Rule::clone(rule)).collect();
        let patterns: Vec<Pattern> = new.iter().map(|rule| rule.pattern.clone()).collect();
        let mut before_all = 0;
        for rule in new {
            match rules.iter().position(|old| old.pattern == rule.pattern) {
                Some(place) => rules[place] = rule,
                None => {
                    rules.insert(before_all, rule);
                    before_all += 1;
                }
            }
        }
        self.replace(rules);
        for pattern in &patterns {
            if let Some(place) = self.place_of(pattern) {
                self.begin_again(place);
            }
        }
    }

    /// Takes out every rule with this pattern; says how many there were.
    pub fn take_out(&mut self, pattern: &Pattern) -> usize {
        let all = self.rules().len();
        let rules: Vec<Rule> = self
            .rules()
            .filter(|rule| rule.pattern != *pattern)
            .map(|rule| Rule::clone(rule))
            .collect();
        let left = rules.len();
        self.replace(rules);
        all - left
    }

    /// The place of the first rule with this pattern.
    pub fn place_of(&self, pattern: &Pattern) -> Option<usize> {
        self.rules().position(|rule| rule.pattern == *pattern)
    }

    /// Begins the rule at `place` again, for every state value.
    pub fn begin_again(&mut self, place: usize) {
        self.parts[place].met = Met::default();
    }

    /// Begins the script of the rule at `place` again for one state value; its other values, and how many attempts it
    /// had, stay.
    pub fn begin_state_again(&mut self, place: usize, state: &[u8]) -> StateReset {
        let met = &mut self.parts[place].met;
        match met.positions.remove(state) {
            Some(_) => {
                met.state_bytes -= Met::cost_of(state);
                StateReset::Done
            }
            None => StateReset::NeverMet,
        }
    }
}

/// What came of beginning one state value again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateReset {
    /// It begins again.
    Done,
    /// No attempt had this value yet, so that it stands at its beginning anyway.
    NeverMet,
}

#[cfg(test)]
mod tests;
