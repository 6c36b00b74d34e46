//! The protocols by which signals and customers are written, as models: every order of steps and every failure of a step is
//! tried (docs/reliability.md).
//!
//! A model has the rules, not the code. Each rule that a model can drop is dropped once, and the search has to find the harm.
#![expect(clippy::indexing_slicing, reason = "an actor's number is below the number of actors")]

mod customers;
mod signals;

use std::collections::HashSet;
use std::hash::Hash;

/// A state of a model.
trait State: Clone + Eq + Hash {
    /// The states that one step leads to, whichever actor takes it and however it fails.
    fn next(&self) -> Vec<Self>;

    /// What is wrong in this state.
    fn violation(&self) -> Option<&'static str>;
}

/// Visits every state that can be reached from `first`. Returns how many there are, or the first violation.
fn explore<S: State>(first: S) -> Result<usize, &'static str> {
    let mut seen = HashSet::from([first.clone()]);
    let mut unvisited = vec![first];
    while let Some(state) = unvisited.pop() {
        if let Some(violation) = state.violation() {
            return Err(violation);
        }
        for next in state.next() {
            if !seen.contains(&next) {
                seen.insert(next.clone());
                unvisited.push(next);
            }
        }
    }
    Ok(seen.len())
}
