//! The papers' forms of references, as values that [`re::Parameters`] takes, and by their names.
//!
//! | form | names what was removed by | of |
//! |---|---|---|
//! | [`PAPER`] | a fingerprint of the stored packet's content | byte-caching paper, section III-B |
//! | [`HASHED`] | the SHA-1 of a whole chunk | REboost, section II-A, after EndRE, NSDI 2010 |

mod chunks;
mod hashed;
mod paper;

use re::Form;
use re::form::InjectedForm;
use wire::frame::FrameType;

/// The byte-caching paper's 14-byte fields ([`crate::shim::paper`]).
pub const PAPER: Form = Form::Injected(InjectedForm {
    name: "paper",
    frame_type: FrameType::ReducedPaper,
    writer: |_| Box::new(paper::Fields::default()),
    reader: |encoder| Box::new(paper::Fingerprints::new(encoder)),
});

/// Whole chunks by their SHA-1 ([`crate::shim::hashed`]).
pub const HASHED: Form = Form::Injected(InjectedForm {
    name: "hashed",
    frame_type: FrameType::ReducedHashed,
    writer: |parameters| Box::new(hashed::ChunkWriter::new(parameters)),
    reader: |encoder| Box::new(hashed::ChunkReader::new(encoder)),
});

/// Every form that the laboratory compares: the product's and those of the papers.
pub const ALL: [Form; 3] = [Form::Compact, PAPER, HASHED];

/// The form with this name.
pub fn named(name: &str) -> Result<Form, UnknownForm> {
    let unknown = || UnknownForm(name.chars().take(40).collect());
    ALL.into_iter().find(|form| form.to_string() == name).ok_or_else(unknown)
}

/// No form has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no form is called {0:?}; there are compact, paper and hashed")]
pub struct UnknownForm(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy;

    #[test]
    fn every_policy_and_form_reads_back_its_own_name() {
        for policy in policy::ALL.into_iter().chain([policy::k_distance(50)]) {
            assert_eq!(policy::named(&policy.to_string()), Ok(policy));
        }
        for form in ALL {
            assert_eq!(named(&form.to_string()), Ok(form));
        }
        assert!(policy::named("ackd").is_err());
        assert!(policy::named("k-distance=many").is_err());
        assert!(named("papers").is_err());
    }
}
