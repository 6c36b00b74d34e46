//! The names of the attributes that a stored customer has beside the fields of its profile
//! (docs/data-model.md, Customers).
//!
//! No client may set them, and no CloudEvent has them.

/// The attribute with the fence of the item.
pub const FENCE: &str = "fence";

/// The attribute with the id of the update that wrote the item last.
pub const FENCE_ID: &str = "fenceId";

/// The prefix of the attribute with the fence of a field. The name of the field follows.
pub const FENCE_PREFIX: &str = "fence:";

/// The attribute with the generation of an item: it tells the item from an erased one of the same
/// customer. No field of a client begins with [`FENCE_PREFIX`], and no client may set `pk`. So this
/// attribute cannot be the fence of a field.
pub const GENERATION: &str = "fence:pk";

/// The attribute with the tombstone version: the highest fence of a removed field that was deleted.
/// Its name is built like [`GENERATION`].
pub const TOMBSTONE_VERSION: &str = "fence:fence";

/// Names of the stored item's own attributes, which the client may not set.
pub const RESERVED_FIELDS: [&str; 8] = [
    "pk",
    "accountId",
    "customerId",
    "createdAt",
    "updatedAt",
    FENCE,
    FENCE_ID,
    "expiresAt",
];

/// Whether an attribute of a stored customer is a fence, or the id of the update that has the item's
/// fence: only the table needs them.
pub fn is_fence(name: &str) -> bool {
    [FENCE, FENCE_ID].contains(&name) || name.starts_with(FENCE_PREFIX)
}

/// Whether the stored item uses this name itself, so that it is not a field of the profile.
pub fn is_reserved(name: &str) -> bool {
    RESERVED_FIELDS.contains(&name) || name.starts_with(FENCE_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attribute_of_the_item_is_the_fence_of_no_field() {
        for attribute in [GENERATION, TOMBSTONE_VERSION] {
            let field = attribute.strip_prefix(FENCE_PREFIX).unwrap();
            assert!(RESERVED_FIELDS.contains(&field), "{attribute}");
        }
    }
}
