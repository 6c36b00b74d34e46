//! A clock that jumps from one wait to the next, and the tasks that wait for it. Must not know what a task does.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The clock. Clones show the same time.
#[derive(Clone, Default)]
pub(crate) struct Clock(Rc<State>);

#[derive(Default)]
struct State {
    now: Cell<Duration>,
    waits: RefCell<BinaryHeap<Reverse<Wait>>>,
    /// Waits so far: of waits that end at the same time, the older one ends first.
    count: Cell<u64>,
    spawned: RefCell<Vec<Task>>,
}

struct Wait {
    until: Duration,
    number: u64,
    waker: Waker,
}

impl Clock {
    /// The time since the clock was made.
    pub(crate) fn now(&self) -> Duration {
        self.0.now.get()
    }

    /// Waits.
    pub(crate) async fn sleep(&self, duration: Duration) {
        let until = self.now().saturating_add(duration);
        let mut waits = false;
        poll_fn(|context| {
            if self.now() >= until {
                return Poll::Ready(());
            }
            if !waits {
                waits = true;
                let number = self.0.count.get();
                self.0.count.set(number.saturating_add(1));
                self.0.waits.borrow_mut().push(Reverse(Wait { until, number, waker: context.waker().clone() }));
            }
            Poll::Pending
        })
        .await;
    }

    /// Starts a task.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawned.borrow_mut().push(Box::pin(task));
    }

    /// Runs all tasks to their end.
    pub(crate) fn run(&self) {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut tasks = FuturesUnordered::new();
        loop {
            tasks.extend(self.0.spawned.take());
            let is_busy = matches!(tasks.poll_next_unpin(&mut context), Poll::Ready(Some(())));
            if is_busy || woken.0.swap(false, Ordering::Relaxed) || !self.0.spawned.borrow().is_empty() {
                continue;
            }
            let Some(Reverse(wait)) = self.0.waits.borrow_mut().pop() else { return };
            self.0.now.set(wait.until);
            wait.waker.wake();
        }
    }
}

/// Whether a task can go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Wait {}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wait {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.until, self.number).cmp(&(other.until, other.number))
    }
}
