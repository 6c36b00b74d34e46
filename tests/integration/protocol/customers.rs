//! Two updates of one customer, by processes whose clocks differ.
//!
//! An attempt of an update succeeds, or its function does not know its outcome: then it takes effect at any later time, or
//! never. The function tries again, or answers 503. The second update begins at any time; where it began after the first was
//! answered 200, the first must not undo it.

use super::{State, explore};

/// The times that the functions read from their clocks: the second process is behind, as far, or ahead.
const CLOCKS: [[u8; 2]; 3] = [[3, 1], [3, 3], [3, 5]];

/// How many calls of an update have an uncertain outcome, at most.
const UNCERTAIN_CALLS: u8 = 3;

/// The latest time that an update reaches: each call can raise it by one.
const MAX_TIME: u8 = 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Update {
    /// Is about to write at this time.
    Tries { time: u8 },
    /// Was answered 200.
    Acknowledged,
    /// Was answered 503.
    Failed,
}

/// The stored customer: which update wrote it last, and its `updatedAt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Item {
    update: usize,
    time: u8,
}

/// The rules of the protocol, of which a world can lack one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// An update is written only over an older `updatedAt`.
    OnlyOverOlder,
    /// An update that meets a newer `updatedAt` is tried again with the time after it.
    GoesAfterNewer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    without: Option<Rule>,
    updates: [Update; 2],
    item: Option<Item>,
    /// The times at which each update may still be written, as sets of bits.
    late: [u16; 2],
    /// Whether the second update began after the first was answered 200.
    is_in_order: bool,
    has_begun: [bool; 2],
    uncertain_calls: [u8; 2],
    harm: Option<&'static str>,
}

impl World {
    fn new(without: Option<Rule>, [first, second]: [u8; 2]) -> Self {
        Self {
            without,
            updates: [Update::Tries { time: first }, Update::Tries { time: second }],
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

    /// The `updatedAt` that prevents a write at this time.
    fn newer_than(&self, time: u8) -> Option<u8> {
        self.item.map(|item| item.time).filter(|updated_at| self.has(Rule::OnlyOverOlder) && *updated_at >= time)
    }

    /// A write takes effect, unless the condition prevents it.
    fn write(mut self, update: usize, time: u8) -> Self {
        if self.newer_than(time).is_some() {
            return self;
        }
        if let Some(item) = self.item {
            if item.time > time {
                self.harm = Some("updatedAt goes back");
            }
            let is_answered = self.updates[update] == Update::Acknowledged;
            if is_answered && item.update != update {
                self.harm = Some("an attempt of an acknowledged update undoes another update");
            }
        }
        self.item = Some(Item { update, time });
        self
    }

    fn step(&self, update: usize, next: &mut Vec<Self>) {
        let Update::Tries { time } = self.updates[update] else { return };
        let mut begun = self.clone();
        begun.is_in_order |= update == 1 && !self.has_begun[1] && self.updates[0] == Update::Acknowledged;
        begun.has_begun[update] = true;

        let mut known = begun.clone();
        known.updates[update] = match self.newer_than(time) {
            None => {
                known = known.write(update, time);
                Update::Acknowledged
            }
            Some(newer) if self.has(Rule::GoesAfterNewer) => Update::Tries { time: newer + 1 },
            Some(_) => Update::Tries { time },
        };
        next.push(known);

        // The function tries again, or gives up.
        let mut uncertain = begun;
        uncertain.late[update] |= 1 << time;
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

impl State for World {
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for update in 0..self.updates.len() {
            self.step(update, &mut next);
            for time in (0..=MAX_TIME).filter(|time| self.late[update] & (1 << time) != 0) {
                let mut late = self.clone();
                late.late[update] &= !(1 << time);
                next.push(late.write(update, time));
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
    let undone = harm(Rule::OnlyOverOlder);
    assert!(undone.iter().all(Option::is_some), "{undone:?}");
    let refused = harm(Rule::GoesAfterNewer);
    assert!(refused.contains(&Some("an update is refused for ever")), "{refused:?}");
}
