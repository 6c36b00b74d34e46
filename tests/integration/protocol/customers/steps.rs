//! The steps of the actors: what a request, a drain and the operator do next, for each outcome of a call.

use super::{DRAIN, Rule, UNCERTAIN_CALLS, UPDATES, Update, World, Write};

impl World {
    /// A request makes a call, of whose outcome it learns or not, or it defers the update.
    pub(super) fn step_request(self, number: usize, next: &mut Vec<Self>) {
        let Update::Tries { fence } = self.updates[number] else { return };
        let write = Self::whole(number, fence, fence);
        let stored = self.item.map_or(0, |item| item.fence);
        let mut known = self.write(write);
        if self.refuses(write) && stored != fence {
            let above = if self.has(Rule::GoesAboveHigher) { self.fence(number, stored / 4 + 1) } else { fence };
            known.updates[number] = Update::Tries { fence: above };
            if self.refuses(Self::whole(number, above, above)) {
                known.harm = Some("an update is refused for ever");
            }
        } else {
            known.updates[number] = Update::Stored;
            known = known.complete(number, fence, 0);
        }
        next.push(known);

        if self.uncertain_calls < UNCERTAIN_CALLS {
            let mut uncertain = self;
            uncertain.uncertain_calls += 1;
            uncertain.late[number] |= 1 << (fence / 4);
            next.push(uncertain);
        }

        let mut deferred = self;
        deferred.updates[number] = Update::Deferred { fence, erased: 0 };
        // A late call with this fence does the same as a delivery.
        deferred.late[number] &= !(1 << (fence / 4));
        next.push(deferred);
    }

    /// A call of the request takes effect late.
    pub(super) fn step_late(self, number: usize, next: &mut Vec<Self>) {
        for (time, write) in self.late_writes(number) {
            let mut late = self.write(write);
            late.late[number] &= !(1 << time);
            next.push(late);
        }
    }

    /// A message is delivered: the drain makes its first write and, if the item refuses it, plans the second one.
    pub(super) fn step_delivery(self, number: usize, next: &mut Vec<Self>) {
        let Update::Deferred { fence: own, erased } = self.updates[number] else { return };
        let fence = if self.has(Rule::MessageHasFence) { own } else { self.fence(number, self.clocks[DRAIN]) };
        let whole = Self::whole(number, own, fence);
        let Some(item) = self.item.filter(|_| self.refuses(whole)) else {
            next.push(self.write(whole).complete(number, own, erased));
            return;
        };
        let fields = item.fields(UPDATES[number], |field| {
            if self.has(Rule::DropsOnlyNewer) { field.fence < fence } else { field.fence == 0 }
        });
        if fields == 0 {
            next.push(self.complete(number, own, erased));
            return;
        }
        let above = if self.has(Rule::ItemGoesAbove) { item.fence / 4 + 1 } else { 0 };
        let item_fence = self.fence(DRAIN, self.clocks[DRAIN].max(above));
        let fence = if self.has(Rule::FieldsHaveFenceOfMessage) { fence } else { item_fence };
        let write = Write { fence, fields, item_fence, is_whole: false, ..whole };
        if let Some(slot) = self.drains.iter().position(Option::is_none) {
            let mut begun = self;
            begun.drains[slot] = Some(write);
            if self.refuses(write) {
                begun.harm = Some("a message is refused for ever");
            }
            next.push(begun);
        }
    }

    /// A drain makes its second write. If the item refuses it, another delivery begins again.
    pub(super) fn step_drain(self, slot: usize, next: &mut Vec<Self>) {
        let Some(write) = self.drains[slot] else { return };
        let number = usize::from(write.request % 4);
        let Update::Deferred { fence, erased } = self.updates[number] else { return };
        let mut written = self.write(write);
        written.drains[slot] = None;
        next.push(if self.refuses(write) { written } else { written.complete(number, fence, erased) });
    }

    /// The operator erases the customer.
    pub(super) fn step_erasure(self, next: &mut Vec<Self>) {
        let mut world = Self { item: None, is_erased: true, ..self };
        for number in 0..UPDATES.len() {
            if let Update::Deferred { fence, .. } = self.updates[number] {
                world.updates[number] = Update::Deferred { fence, erased: self.stored(number, fence) };
            }
        }
        if self.item.is_some() && !self.is_erased {
            next.push(world);
        }
    }
}
