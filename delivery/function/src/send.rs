//! Sends items to a target in several calls, and says which ones the target did not take. This
//! module must not know what an item is.

use aws::cause::Cause;

use crate::target_error::TargetError;

/// An item that a target did not take. It may have taken later ones.
#[derive(Debug)]
pub(crate) struct Undelivered {
    /// Its index among the items of the call or, in a [`SendOutcome`], of all calls.
    pub(crate) index: usize,
    pub(crate) cause: TargetError,
}

/// A call that failed as a whole delivered none of its items.
impl From<TargetError> for Undelivered {
    fn from(cause: TargetError) -> Self {
        Self { index: 0, cause }
    }
}

/// What became of the items that were sent to a target.
#[derive(Debug, Default)]
pub(crate) struct SendOutcome {
    /// The items that the target will never take, in their order.
    pub(crate) refused: Vec<Undelivered>,
    /// The item that ended the sending, for another reason than what is in it.
    pub(crate) failed: Option<Undelivered>,
    /// Whether there were several items, and the target refused the first ones and took none: then
    /// it may be the target that is at fault, and not what is in the items.
    pub(crate) took_none_of_several: bool,
}

/// Sends items in their order, until a call fails for another reason than what is in it. A call
/// that the target refuses as a whole is made again with half of its items, so that each item that
/// the target will never take is found.
///
/// One call takes the first items of those that are left, as many as `count_of_call` says. `call`
/// names an undelivered item by its index in the call.
pub(crate) async fn send_all<'i, T, F>(
    items: &'i [T],
    count_of_call: fn(&[T]) -> usize,
    call: impl Fn(&'i [T]) -> F,
) -> SendOutcome
where
    F: Future<Output = Result<(), Undelivered>>,
{
    let mut outcome = SendOutcome::default();
    // The index of the first item that is neither taken nor refused.
    let mut first = 0;
    let mut max_count = usize::MAX;
    while let Some(rest) = items.get(first..)
        && !rest.is_empty()
    {
        let count = count_of_call(rest).min(max_count);
        let items_of_call = rest.get(..count).unwrap_or(rest);
        let Err(undelivered) = call(items_of_call).await else {
            first += items_of_call.len();
            max_count = max_count.saturating_mul(2);
            continue;
        };
        let is_about_the_call = matches!(undelivered.cause, TargetError::InvalidCall(_));
        if is_about_the_call && items_of_call.len() > 1 {
            max_count = items_of_call.len() / 2;
            continue;
        }
        first += undelivered.index;
        let undelivered = Undelivered {
            index: first,
            cause: undelivered.cause,
        };
        if !undelivered.cause.is_for_good() {
            outcome.failed = Some(undelivered);
            break;
        }
        outcome.refused.push(undelivered);
        first += 1;
    }
    let refused = outcome.refused.len();
    outcome.took_none_of_several = items.len() > 1 && refused > 0 && refused == first;
    outcome
}

/// What a target answered for one item of a call, or for one record of several items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemResult<'r> {
    /// The index of the item, or of the first item of the record, in the call.
    pub(crate) index: usize,
    /// The id that the target gave it.
    pub(crate) id: Option<&'r str>,
    pub(crate) error_code: Option<&'r str>,
}

/// Checks that a target took each item: its result has an id and no error code.
pub(crate) fn confirm<'r>(
    results: impl IntoIterator<Item = ItemResult<'r>>,
) -> Result<(), Undelivered> {
    for ItemResult {
        index,
        id,
        error_code,
    } in results
    {
        let cause = match (id, error_code) {
            (_, Some(code)) => TargetError::from_code(code),
            (None, None) => Cause::ResponseError.into(),
            (Some(_), None) => continue,
        };
        return Err(Undelivered { index, cause });
    }
    Ok(())
}

/// Checks that a response has a result for each item or record of the call.
pub(crate) fn confirm_count(sent: usize, results: usize) -> Result<(), TargetError> {
    if sent != results {
        return Err(Cause::ResponseError.into());
    }
    Ok(())
}
