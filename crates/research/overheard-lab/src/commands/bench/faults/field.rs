//! Three machines on a switch.

use super::super::tunnel::answers;
use super::system::System;
use anyhow::{Context, ensure};
use lab::{Namespace, Run};
use std::process::{Command, Stdio};
use std::time::Duration;

pub const GATEWAY: usize = 0;
pub const STATION: usize = 1;
/// Another machine with the station's key.
pub const TWIN: usize = 2;
const MACHINES: [&str; 3] = ["gateway", "station", "twin"];
/// Timeout of the programs' start.
const PATIENCE: Duration = Duration::from_secs(15);

/// The machines. Dropping it removes them.
pub struct Field {
    machines: Vec<Namespace>,
    _switch: Namespace,
    run: Run,
}

impl Field {
    pub fn lay() -> anyhow::Result<Self> {
        let run = Run::begin().context("`bench faults` makes network namespaces")?;
        let mut machines = Namespace::make(&run, &["gateway", "station", "twin", "switch"])?;
        let switch = machines.pop().context("a namespace is missing after it was made")?;
        switch.ip("link add bridge type bridge\nlink set bridge up\nlink set lo up\n")?;
        for (index, machine) in machines.iter().enumerate() {
            machine.ip(&format!(
                "link set lo up\nlink add cable type veth peer name port{index} netns {}\n",
                switch.name()
            ))?;
            switch.ip(&format!("link set port{index} master bridge up\n"))?;
            let own = index + 1;
            machine.ip(&format!("addr add 192.0.2.{own}/24 dev cable\nlink set cable up\n"))?;
            // Datagrams cross the switch one by one, as on a cable.
            machine.ip("link set cable gso_max_segs 1\n")?;
            machine.set_parameters([("net.ipv4.ping_group_range", "0 2147483647")])?;
        }
        Ok(Field { machines, _switch: switch, run })
    }

    pub fn machine(&self, index: usize) -> &Namespace {
        &self.machines[index]
    }

    pub fn name(index: usize) -> &'static str {
        MACHINES[index]
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Waits until the gateway answers through the tunnel.
    pub fn await_answer(&self, system: &System) -> anyhow::Result<()> {
        let has_answer = answers(self.machine(STATION), system.gateway(), PATIENCE)?;
        ensure!(has_answer, "the gateway does not answer by {}", system.label());
        Ok(())
    }

    /// Sets the MTU of the interfaces of gateway and station.
    pub fn set_mtu(&self, bytes: u16) -> anyhow::Result<()> {
        for machine in &self.machines[..=STATION] {
            machine.ip(&format!("link set cable mtu {bytes}\n"))?;
        }
        Ok(())
    }

    /// Longer packets disappear from now on, without a word.
    pub fn drop_above(&self, bytes: u16) -> anyhow::Result<()> {
        self.drop(&format!("meta length > {bytes}"))
    }

    /// All packets disappear from now on.
    pub fn cut(&self) -> anyhow::Result<()> {
        self.drop("meta length > 0")
    }

    fn drop(&self, which: &str) -> anyhow::Result<()> {
        for machine in &self.machines[..=STATION] {
            nft(machine, "add table inet fault")?;
            nft(machine, "add chain inet fault in { type filter hook prerouting priority -300; }")?;
            nft(machine, &format!("add rule inet fault in iifname cable {which} drop"))?;
        }
        Ok(())
    }

    /// Ends what was dropped.
    pub fn mend(&self) -> anyhow::Result<()> {
        self.machines[..=STATION].iter().try_for_each(|machine| nft(machine, "delete table inet fault"))
    }
}

fn nft(machine: &Namespace, rule: &str) -> anyhow::Result<()> {
    let status = machine.enter(|| Command::new("nft").arg(rule).stdin(Stdio::null()).status())?;
    ensure!(status.context("cannot start nft")?.success(), "nft refuses: {rule}");
    Ok(())
}
