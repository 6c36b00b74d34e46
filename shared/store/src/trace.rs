//! The X-Ray trace of an invocation, by the header that Lambda gives it ("Tracing header" in the X-Ray developer guide). Must not
//! know what is sent to X-Ray.

/// The trace that an invocation belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(crate) id: String,
    pub(crate) parent_id: String,
}

impl Trace {
    /// The trace of Lambda's header, if the invocation is in the sample that is traced.
    pub fn from_header(header: &str) -> Option<Self> {
        let part = |name| header.split(';').find_map(|part| part.strip_prefix(name));
        if part("Sampled=")? != "1" {
            return None;
        }
        Some(Self { id: part("Root=")?.to_owned(), parent_id: part("Parent=")?.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sampled_invocation_has_a_trace() {
        let parent_id = "53995c3f42cd8ad8".to_owned();
        let sampled = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        let trace = Trace { id: "1-5759e988-bd862e3fe1be46a994272793".to_owned(), parent_id };
        assert_eq!(Trace::from_header(&format!("{sampled};Lineage=a:0")), Some(trace));
        for header in [&sampled.replace("Sampled=1", "Sampled=0"), "Root=1-5759e988-bd862e3fe1be46a994272793", ""] {
            assert_eq!(Trace::from_header(header), None, "{header}");
        }
    }
}
