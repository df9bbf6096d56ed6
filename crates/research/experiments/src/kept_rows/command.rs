//! Commands that run figures.

use crate::experiment::Experiment;
use crate::row::Driver;

/// The command that runs a figure whole by a driver.
#[must_use]
pub fn command(experiment: &Experiment, driver: Driver, figure: &str) -> String {
    let program = match driver {
        Driver::Lab => "sudo overheard-lab",
        Driver::Qemu => "scripts/in-qemu target/release/overheard-lab",
        _ => "overheard-lab",
    };
    // the parts of one paper without TCP and with it are one command's
    let name = experiment.id.strip_suffix("-tcp").unwrap_or(experiment.id);
    let by_default = match name {
        "refactor" => Driver::Sim,
        "reboost" => Driver::Lab,
        _ => Driver::Virtual,
    };
    let option = if driver == by_default { String::new() } else { format!(" --driver {driver}") };
    format!("{program} experiment {name}{option} --figure {figure}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{byte_caching, reboost, refactor};

    #[test]
    fn a_driver_is_named_where_it_is_not_the_default() {
        let at = |experiment, driver| command(experiment, driver, "6");
        assert_eq!(
            at(&byte_caching::EXPERIMENT, Driver::Virtual),
            "overheard-lab experiment byte-caching --figure 6"
        );
        let sim = at(&byte_caching::EXPERIMENT, Driver::Sim);
        assert_eq!(sim, "overheard-lab experiment byte-caching --driver sim --figure 6");
        let with_tcp = at(&refactor::WITH_TCP, Driver::Virtual);
        assert_eq!(with_tcp, "overheard-lab experiment refactor --driver virtual --figure 6");
        assert_eq!(at(&reboost::EXPERIMENT, Driver::Lab), "sudo overheard-lab experiment reboost --figure 6");
        assert_eq!(
            at(&reboost::EXPERIMENT, Driver::Qemu),
            "scripts/in-qemu target/release/overheard-lab experiment reboost --driver qemu --figure 6"
        );
    }
}
