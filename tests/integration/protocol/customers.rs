//! Three updates of one customer, by processes whose clocks differ: two change one field each, the third one both. Whether a
//! field is set or removed makes no difference: it has a fence afterwards.
//!
//! **A request** writes the whole update: its fields, the fence of each of them, and the fence of the item. All these fences
//! are one number, which the request takes from its clock. The item refuses the write if its fence is as high or higher. If it
//! is the request's own fence, an earlier call has taken effect, and the response is 200. Otherwise the request takes a fence
//! above that of the item and tries again. The outcome of a call may be uncertain: then it takes effect at any later time, or
//! never. At any time, also before its first call, a request may put the update into the queue with the fence of its next
//! call, and the response is 200.
//!
//! **A drain** first writes the whole update with the fence of the message, on the same condition as the request. If the item
//! refuses it, the drain drops the fields whose fences are as high or higher. If any are left, it writes them with the fence
//! of the message, and gives the item the time of the drain as its fence, or a fence above that of the item, whichever is
//! higher. This write is refused unless the item exists, the fence of each field that it changes is lower than that of the
//! message, and the fence of the item is lower than the new one. If it is refused, the drain begins again with all fields.
//!
//! **The operator** erases the customer once, at any time. What was stored by then is not owed to the client any more.
//!
//! What makes no difference is left out:
//!
//! - A request that is killed, or answered 503, is one that takes no further step. If its message is in the queue all the
//!   same, drains treat it as one that was answered 200.
//! - A message is delivered at any time and any number of times, also after it was deleted. Thus a drain that begins again, or
//!   that is killed, or whose first write takes effect late, does what another delivery does. A drain whose second write takes
//!   effect late is one that is slow to write.
//! - An acknowledged field is compared with the item once, when the request is answered or the message is deleted: after that,
//!   an older request never replaces a field, or the model reports it. As a request that is answered after a write has a higher
//!   fence than the item had, the order of the fences is also that of the direct responses.

mod steps;

use super::{State, explore};

/// The fields of each update, as sets of bits.
const UPDATES: [u8; 3] = [0b01, 0b10, 0b11];

/// What the fences of drains have in place of the number of an update.
const DRAIN: usize = UPDATES.len();

/// The times that the requests and the drains read from their clocks.
type Clocks = [u8; UPDATES.len() + 1];

/// The drains are between the requests, ahead of them all, and behind.
const CLOCKS: [Clocks; 3] = [[1, 2, 3, 2], [3, 2, 1, 5], [5, 1, 3, 1]];

/// How many calls of requests have an uncertain outcome, at most.
const UNCERTAIN_CALLS: u8 = 2;

/// The rules of the protocol, of which a world can lack one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rule {
    /// A whole update is written only over a lower fence of the item.
    WholeOverLower,
    /// A request that meets a higher fence is tried again above it.
    GoesAboveHigher,
    /// No two updates have the same fence, and no drain gives the item one that an update has.
    FencesDiffer,
    /// A message has the fence of its request, and not the time of the drain.
    MessageHasFence,
    /// A drain drops only the fields whose fences are as high or higher, and not every field that the item has.
    DropsOnlyNewer,
    /// The second write of a drain gives the fields the fence of the message, and not that of the item.
    FieldsHaveFenceOfMessage,
    /// It is refused where a fence of its fields is not lower.
    FieldsOverLower,
    /// It is refused where the item has no lower fence than the new one.
    ItemOverLower,
    /// It is refused where there is no item.
    ItemExists,
    /// It gives the item a fence above the one that the drain met, also if the drain's clock is behind.
    ItemGoesAbove,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Update {
    /// The request is about to write with this fence.
    Tries { fence: u8 },
    /// The request stored the update and was answered 200.
    Stored,
    /// The request was answered 200 when the message was in the queue. The erased fields are not owed any more.
    Deferred { fence: u8, erased: u8 },
}

/// A stored field: its fence, and that of the request that it comes from. A field that the item does not have has zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Field {
    fence: u8,
    request: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Item {
    fence: u8,
    fields: [Field; 2],
}

/// A write of a request or a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Write {
    /// The fence of the request.
    request: u8,
    /// The fence of the fields.
    fence: u8,
    fields: u8,
    /// The fence of the item.
    item_fence: u8,
    /// Whether it is a request's write, or the first one of a drain.
    is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct World {
    without: Option<Rule>,
    clocks: Clocks,
    updates: [Update; UPDATES.len()],
    /// The times of the fences with which each request may still be written, as sets of bits.
    late: [u32; UPDATES.len()],
    uncertain_calls: u8,
    /// The second writes that two drains are about to make.
    drains: [Option<Write>; 2],
    item: Option<Item>,
    is_erased: bool,
    harm: Option<&'static str>,
}

impl Item {
    /// The fields of a set for which something is true.
    fn fields(self, set: u8, is_true: impl Fn(Field) -> bool) -> u8 {
        let bits = (0..).zip(self.fields).map(|(index, field)| if is_true(field) { 1 << index } else { 0 });
        set & bits.sum::<u8>()
    }
}

impl World {
    fn new(without: Option<Rule>, clocks: Clocks) -> Self {
        let mut world = Self {
            without,
            clocks,
            updates: [Update::Stored; UPDATES.len()],
            late: [0; UPDATES.len()],
            uncertain_calls: 0,
            drains: [None; 2],
            item: None,
            is_erased: false,
            harm: None,
        };
        for (number, time) in clocks.into_iter().take(UPDATES.len()).enumerate() {
            world.updates[number] = Update::Tries { fence: world.fence(number, time) };
        }
        world
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// A fence of this time. In place of a random part, it has the number of its update.
    fn fence(&self, number: usize, time: u8) -> u8 {
        if self.has(Rule::FencesDiffer) { request(number, 4 * time) } else { 4 * time }
    }

    /// The write of a whole update.
    fn whole(number: usize, request_fence: u8, fence: u8) -> Write {
        let request = request(number, request_fence);
        Write { request, fence, fields: UPDATES[number], item_fence: fence, is_whole: true }
    }

    /// Whether the condition of a write is false.
    fn refuses(&self, write: Write) -> bool {
        let Some(item) = self.item else { return !write.is_whole && self.has(Rule::ItemExists) };
        let is_below = item.fence >= write.item_fence;
        if write.is_whole {
            return is_below && self.has(Rule::WholeOverLower);
        }
        let is_older = item.fields(write.fields, |field| field.fence >= write.fence) != 0;
        is_older && self.has(Rule::FieldsOverLower) || is_below && self.has(Rule::ItemOverLower)
    }

    /// A write takes effect, unless it is refused.
    fn write(mut self, write: Write) -> Self {
        if self.refuses(write) {
            return self;
        }
        let mut item = self.item.unwrap_or_default();
        if item.fence > write.item_fence {
            self.harm = Some("updatedAt goes back");
        }
        if item.fields(write.fields, |field| field.request > write.request) != 0 {
            self.harm = Some("an older update undoes a newer one");
        }
        if self.item.is_none() && !write.is_whole {
            self.harm = Some("an item is stored in part");
        }
        for index in (0..item.fields.len()).filter(|index| write.fields & (1 << index) != 0) {
            item.fields[index] = Field { fence: write.fence, request: write.request };
        }
        item.fence = write.item_fence;
        self.item = Some(item);
        self
    }

    /// The fields of an update that are stored, or were replaced by a newer one.
    fn stored(&self, number: usize, fence: u8) -> u8 {
        self.item.map_or(0, |item| item.fields(UPDATES[number], |field| field.request >= request(number, fence)))
    }

    /// Compares the item with what is owed: the request has stored the update, or its message is deleted.
    fn complete(mut self, number: usize, fence: u8, erased: u8) -> Self {
        if self.stored(number, fence) | erased != UPDATES[number] {
            self.harm = Some("an acknowledged field is lost");
        }
        self
    }

    /// The calls of a request that may still take effect, with the times of their fences.
    fn late_writes(self, number: usize) -> impl Iterator<Item = (u8, Write)> {
        (0..32).filter(move |time| self.late[number] & (1 << time) != 0).map(move |time| {
            let fence = self.fence(number, time);
            (time, Self::whole(number, fence, fence))
        })
    }

    /// Forgets what makes no difference any more.
    fn forget(&mut self) {
        // An item that is not erased again refuses for ever what it refuses now: its fences only rise.
        if self.is_erased && self.item.is_some() {
            let world = *self;
            for number in 0..UPDATES.len() {
                for (time, _) in world.late_writes(number).filter(|(_, write)| world.refuses(*write)) {
                    self.late[number] &= !(1 << time);
                }
            }
            self.drains = self.drains.map(|drain| drain.filter(|write| !world.refuses(*write)));
        }
        // Which of two drains is which makes no difference either.
        self.drains.sort_unstable();
    }
}

/// The fence of a request, which tells it apart even where the rule that fences differ is left out.
fn request(number: usize, fence: u8) -> u8 {
    fence / 4 * 4 + u8::try_from(number).unwrap()
}

impl State for World {
    fn next(&self) -> Vec<Self> {
        let mut next = Vec::new();
        for number in 0..UPDATES.len() {
            self.step_request(number, &mut next);
            self.step_late(number, &mut next);
            self.step_delivery(number, &mut next);
        }
        for slot in 0..self.drains.len() {
            self.step_drain(slot, &mut next);
        }
        self.step_erasure(&mut next);
        next.iter_mut().for_each(Self::forget);
        next
    }

    fn violation(&self) -> Option<&'static str> {
        self.harm
    }
}

#[test]
fn acknowledged_field_is_never_lost_or_undone_by_an_older_update() {
    for clocks in CLOCKS {
        let states = explore(World::new(None, clocks));
        assert!(states.is_ok_and(|states| states > 40_000), "{clocks:?}: {states:?}");
    }
}

#[test]
fn protocol_of_customers_without_one_of_its_rules_does_harm() {
    for (rule, harm) in [
        (Rule::WholeOverLower, "an older update undoes a newer one"),
        (Rule::GoesAboveHigher, "an update is refused for ever"),
        (Rule::FencesDiffer, "an acknowledged field is lost"),
        (Rule::MessageHasFence, "an older update undoes a newer one"),
        (Rule::DropsOnlyNewer, "an acknowledged field is lost"),
        (Rule::FieldsHaveFenceOfMessage, "an older update undoes a newer one"),
        (Rule::FieldsOverLower, "an older update undoes a newer one"),
        (Rule::ItemOverLower, "updatedAt goes back"),
        (Rule::ItemExists, "an item is stored in part"),
        (Rule::ItemGoesAbove, "a message is refused for ever"),
    ] {
        let found = CLOCKS.map(|clocks| explore(World::new(Some(rule), clocks)).err());
        assert!(found.contains(&Some(harm)), "{rule:?}: {found:?}");
    }
}
