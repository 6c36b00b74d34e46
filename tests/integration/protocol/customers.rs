//! Two updates of one customer, by processes whose clocks differ.
//!
//! An attempt of an update succeeds, or its function does not know its outcome: then it takes effect at any later time, or
//! never. The function tries again, or answers 503. The second update begins at any time; where it began after the first was
//! answered 200, the first must not undo it. In place of a random part, a fence has the number of its update.

use super::{State, explore};

/// The times that the functions read from their clocks: the second process is behind, as far, or ahead.
const CLOCKS: [[u8; 2]; 3] = [[3, 1], [3, 3], [3, 5]];

/// How many calls of an update have an uncertain outcome, at most.
const UNCERTAIN_CALLS: u8 = 3;

/// The highest fence that an update reaches: each call can raise it by one time.
const MAX_FENCE: u8 = 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Update {
    /// Is about to write with this fence.
    Tries { fence: u8 },
    /// Was answered 200.
    Acknowledged,
    /// Was answered 503.
    Failed,
}

/// The stored customer: which update wrote it last, and its fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Item {
    update: usize,
    fence: u8,
}

/// The rules of the protocol, of which a world can lack one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// An update is written only over a lower fence.
    OnlyOverLower,
    /// An update that meets a higher fence is tried again above it.
    GoesAboveHigher,
    /// No two updates have the same fence. (An update that meets its own one has taken effect late.)
    FencesDiffer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    without: Option<Rule>,
    updates: [Update; 2],
    item: Option<Item>,
    /// The fences with which each update may still be written, as sets of bits.
    late: [u32; 2],
    /// Whether the second update began after the first was answered 200.
    is_in_order: bool,
    has_begun: [bool; 2],
    uncertain_calls: [u8; 2],
    harm: Option<&'static str>,
}

impl World {
    fn new(without: Option<Rule>, clocks: [u8; 2]) -> Self {
        let begin = |update: usize| Update::Tries { fence: fence(without, update, clocks[update]) };
        Self {
            without,
            updates: [begin(0), begin(1)],
            item: None,
            late: [0; 2],
            is_in_order: false,
            has_begun: [false; 2],
            uncertain_calls: [0; 2],
            harm: None,
        }
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The stored fence that prevents a write with this one.
    fn not_below(&self, fence: u8) -> Option<u8> {
        self.item.map(|item| item.fence).filter(|stored| self.has(Rule::OnlyOverLower) && *stored >= fence)
    }

    /// A write takes effect, unless the condition prevents it.
    fn write(mut self, update: usize, fence: u8) -> Self {
        if self.not_below(fence).is_some() {
            return self;
        }
        if let Some(item) = self.item {
            if item.fence > fence {
                self.harm = Some("updatedAt goes back");
            }
            let is_answered = self.updates[update] == Update::Acknowledged;
            if is_answered && item.update != update {
                self.harm = Some("an attempt of an acknowledged update undoes another update");
            }
        }
        self.item = Some(Item { update, fence });
        self
    }

    fn step(&self, update: usize, next: &mut Vec<Self>) {
        let Update::Tries { fence: own } = self.updates[update] else { return };
        let mut begun = self.clone();
        begun.is_in_order |= update == 1 && !self.has_begun[1] && self.updates[0] == Update::Acknowledged;
        begun.has_begun[update] = true;

        let mut known = begun.clone();
        known.updates[update] = match self.not_below(own) {
            None => {
                known = known.write(update, own);
                Update::Acknowledged
            }
            Some(stored) if stored == own && self.uncertain_calls[update] > 0 => Update::Acknowledged,
            Some(stored) if self.has(Rule::GoesAboveHigher) => {
                Update::Tries { fence: fence(self.without, update, stored / 2 + 1) }
            }
            Some(_) => Update::Tries { fence: own },
        };
        next.push(known);

        // The function tries again, or gives up.
        let mut uncertain = begun;
        uncertain.late[update] |= 1 << own;
        uncertain.uncertain_calls[update] += 1;
        if uncertain.uncertain_calls[update] <= UNCERTAIN_CALLS {
            next.push(uncertain.clone());
        }
        uncertain.updates[update] = Update::Failed;
        next.push(uncertain);
    }

    /// Whether an update that is alone from now on, and whose calls succeed, is answered 200 at its second call.
    fn is_refused_for_ever(&self, update: usize) -> bool {
        let mut world = self.clone();
        for _ in 0..2 {
            let mut next = Vec::new();
            world.step(update, &mut next);
            let Some(known) = next.into_iter().next() else { return false };
            world = known;
        }
        matches!(world.updates[update], Update::Tries { .. })
    }
}

/// A fence of this time.
fn fence(without: Option<Rule>, update: usize, time: u8) -> u8 {
    let part = if without == Some(Rule::FencesDiffer) { 0 } else { u8::try_from(update).unwrap() };
    2 * time + part
}

impl State for World {
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for update in 0..self.updates.len() {
            self.step(update, &mut next);
            for fence in (0..=MAX_FENCE).filter(|fence| self.late[update] & (1 << fence) != 0) {
                let mut late = self.clone();
                late.late[update] &= !(1 << fence);
                next.push(late.write(update, fence));
            }
        }
        next
    }

    fn violation(&self) -> Option<&'static str> {
        let is_undone = self.is_in_order
            && self.updates == [Update::Acknowledged; 2]
            && self.item.is_some_and(|item| item.update != 1);
        if is_undone {
            return Some("an acknowledged update is undone by an earlier one");
        }
        let is_refused = (0..self.updates.len()).any(|update| self.is_refused_for_ever(update));
        self.harm.or(is_refused.then_some("an update is refused for ever"))
    }
}

#[test]
fn acknowledged_update_is_never_undone_by_an_earlier_one() {
    for clocks in CLOCKS {
        let states = explore(World::new(None, clocks));
        assert!(states.is_ok_and(|states| states > 100), "{clocks:?}: {states:?}");
    }
}

#[test]
fn protocol_without_one_of_its_rules_undoes_or_refuses_an_update() {
    let harm = |rule| CLOCKS.map(|clocks| explore(World::new(Some(rule), clocks)).err());
    let undone = harm(Rule::OnlyOverLower);
    assert!(undone.iter().all(Option::is_some), "{undone:?}");
    let refused = harm(Rule::GoesAboveHigher);
    assert!(refused.contains(&Some("an update is refused for ever")), "{refused:?}");
    let lost = harm(Rule::FencesDiffer);
    assert!(lost.contains(&Some("an acknowledged update is undone by an earlier one")), "{lost:?}");
}
