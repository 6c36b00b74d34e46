//! Sends items to a target in several calls, and returns the ones that the target did not accept. This
//! module must not know what an item is.

use aws::call_error::CallError;

use crate::target_error::TargetError;

/// Why a target did not accept a whole call, or one of its items.
#[derive(Debug)]
pub(crate) struct RefusedCall {
    /// The index of the first item of the call that the target did not accept. It may have accepted later
    /// ones.
    pub(crate) index: usize,
    pub(crate) error: TargetError,
}

/// A call that failed as a whole delivered none of its items.
impl From<TargetError> for RefusedCall {
    fn from(error: TargetError) -> Self {
        Self { index: 0, error }
    }
}

/// An item that a target did not accept.
#[derive(Debug)]
pub(crate) struct Undelivered<'i, T> {
    pub(crate) item: &'i T,
    pub(crate) error: TargetError,
}

/// The outcome of the items that were sent to a target.
#[derive(Debug)]
pub(crate) struct SendOutcome<'i, T> {
    /// The items that the target will never accept, in their order.
    pub(crate) refused: Vec<Undelivered<'i, T>>,
    /// The item that ended the sending, for another reason than its content.
    pub(crate) failed: Option<Undelivered<'i, T>>,
    /// Whether there were several items, and the target refused the first ones and accepted none.
    /// Then the target may be at fault, and not the content of the items.
    pub(crate) took_none_of_several: bool,
}

/// Sends items in their order, until a call fails for another reason than its content. If the target
/// refuses a whole call, the call is made again with half of its items, until each item that the
/// target will never accept is found.
///
/// A call sends the first remaining items, as many as `count_of_call` says, which is at least one. `call` names an undelivered item by its index in the call.
pub(crate) async fn send_all<'i, T, F>(
    items: &'i [T],
    count_of_call: fn(&[T]) -> usize,
    call: impl Fn(&'i [T]) -> F,
) -> SendOutcome<'i, T>
where
    F: Future<Output = Result<(), RefusedCall>>,
{
    let mut refused = Vec::new();
    let mut failed = None;
    // The items that are neither accepted nor refused.
    let mut rest = items;
    let mut max_count = usize::MAX;
    while !rest.is_empty() {
        let count = count_of_call(rest).min(max_count);
        let (items_of_call, later) = rest.split_at(count.min(rest.len()));
        let Err(RefusedCall { index, error }) = call(items_of_call).await else {
            rest = later;
            max_count = max_count.saturating_mul(2);
            continue;
        };
        let is_about_the_call = matches!(error, TargetError::InvalidCall(_));
        if is_about_the_call && items_of_call.len() > 1 {
            max_count = items_of_call.len() / 2;
            continue;
        }
        rest = rest.get(index..).unwrap_or_default();
        let (item, after) = rest.split_first().expect("a call names one of its items");
        let undelivered = Undelivered { item, error };
        if !undelivered.error.is_for_good() {
            failed = Some(undelivered);
            break;
        }
        refused.push(undelivered);
        rest = after;
    }
    let done = items.len() - rest.len();
    SendOutcome {
        took_none_of_several: items.len() > 1 && !refused.is_empty() && refused.len() == done,
        refused,
        failed,
    }
}

/// The result of one item of a call, or of one record of several items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemResult<'r> {
    /// The index of the item, or of the first item of the record, in the call.
    pub(crate) index: usize,
    /// The id that the target gave it.
    pub(crate) id: Option<&'r str>,
    pub(crate) error_code: Option<&'r str>,
}

/// Checks that a target accepted each item: its result has an id and no error code.
pub(crate) fn confirm<'r>(
    results: impl IntoIterator<Item = ItemResult<'r>>,
) -> Result<(), RefusedCall> {
    for ItemResult {
        index,
        id,
        error_code,
    } in results
    {
        let error = match (id, error_code) {
            (_, Some(code)) => TargetError::from_code(code),
            (None, None) => CallError::ResponseError.into(),
            (Some(_), None) => continue,
        };
        return Err(RefusedCall { index, error });
    }
    Ok(())
}

/// Checks that a response has a result for each item or record of the call.
pub(crate) fn confirm_count(sent: usize, results: usize) -> Result<(), TargetError> {
    if sent != results {
        return Err(CallError::ResponseError.into());
    }
    Ok(())
}
