//! Features that a build for routers may leave out. A key of a missing feature is a mistake.

use super::Mistake;
use super::file::{File, Switched};
use std::path::Path;

/// A feature of the program, and whether this build has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its name, as cargo knows it.
    pub name: &'static str,
    /// Whether this build has it.
    pub is_built: bool,
}

/// TCP that turns saved bytes into speed.
pub const BOOST: Feature = Feature { name: "boost", is_built: cfg!(feature = "boost") };
/// The operator's page, and `overheard top`.
pub const DASHBOARD: Feature = Feature { name: "dashboard", is_built: cfg!(feature = "dashboard") };
/// Stations that use each other's packets.
pub const OVERHEAR: Feature = Feature { name: "overhear", is_built: cfg!(feature = "overhear") };
/// Repair of TCP segments.
pub const SNOOP: Feature = Feature { name: "snoop", is_built: cfg!(feature = "snoop") };

impl Feature {
    /// A mistake if `key` in the file at `path` needs this feature, and this build lacks it.
    ///
    /// # Errors
    ///
    /// [`Mistake`].
    pub fn needed_by(self, path: &Path, key: &str, is_set: bool) -> Result<(), Mistake> {
        if !is_set || self.is_built {
            return Ok(());
        }
        let what = format!(
            "this program was built without the feature {:?}; take this out, or install a build with it",
            self.name
        );
        Err(Mistake::at(path, key, what))
    }
}

/// Refuses the keys of `file` whose features are missing.
pub fn check(path: &Path, file: &File) -> Result<(), Mistake> {
    BOOST.needed_by(path, "[tunnel] boost", file.tunnel.boost)?;
    DASHBOARD.needed_by(path, "[dashboard]", file.dashboard.is_some())?;
    OVERHEAR.needed_by(path, "[overhear]", file.overhear.is_some())?;
    SNOOP.needed_by(path, "[snoop]", is_on(file.snoop.as_ref()))
}

fn is_on<T>(switched: Option<&Switched<T>>) -> bool {
    switched.is_some_and(|switched| !matches!(switched, Switched::Switch(false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_a_missing_feature_is_named_with_the_remedy() {
        let missing = Feature { name: "snoop", is_built: false };
        let file = Path::new("router.toml");
        let told = missing.needed_by(file, "[snoop]", true).unwrap_err().to_string();
        assert_eq!(
            told,
            "router.toml: [snoop]: this program was built without the feature \"snoop\"; take this out, or install a build \
             with it"
        );
        assert!(missing.needed_by(file, "[snoop]", false).is_ok());
        assert!(Feature { is_built: true, ..missing }.needed_by(file, "[snoop]", true).is_ok());
    }
}
