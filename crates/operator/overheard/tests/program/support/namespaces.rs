//! Two machines on a cable, as network namespaces, and nodes on them.

use super::{PROGRAM, Site};
use lab::{Namespace, Program, Run};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Whether this machine can run such tests; prints the reason once a test if not.
pub fn possible() -> bool {
    let possible = rustix::process::geteuid().is_root() && fs::exists("/dev/net/tun").unwrap_or(false);
    if !possible {
        println!("skipped: tunnels between namespaces need root and /dev/net/tun");
    }
    possible
}

/// A network namespace, removed when dropped.
pub struct Machine {
    pub name: String,
    namespace: Namespace,
    _run: Run,
}

impl Machine {
    pub fn new(part: &str) -> Self {
        let run = Run::begin().unwrap();
        let namespace = Namespace::make(&run, &[part]).unwrap().remove(0);
        namespace.ip("link set lo up\n").unwrap();
        Machine { name: namespace.name().to_owned(), namespace, _run: run }
    }

    /// Runs `ip` on this machine.
    pub fn ip(&self, args: &str) -> String {
        let mut all = vec!["-n", &self.name];
        all.extend(args.split(' '));
        run("ip", &all)
    }

    /// Runs a program on this machine.
    pub fn run(&self, program: &str, args: &str) -> String {
        let mut all = vec!["netns", "exec", &self.name, program];
        all.extend(args.split(' '));
        run("ip", &all)
    }

    /// Starts a program on this machine. Dropped, it is killed with its children.
    pub fn start(&self, command: Command, package: &str) -> Program {
        Program::start(&self.namespace, command, package).unwrap()
    }

    /// Runs `doing` on this machine: its sockets stay there.
    pub fn on<T: Send>(&self, doing: impl FnOnce() -> T + Send) -> T {
        self.namespace.enter(doing).unwrap()
    }

    /// Leftovers of a tunnel: interfaces beyond the cable and `lo`, and rules and routes that are not the
    /// kernel's own. Empty means clean.
    pub fn traces(&self) -> Vec<String> {
        let mut traces = Vec::new();
        for line in self.ip("-o link").lines() {
            let name = line.split(": ").nth(1).unwrap_or("");
            if !name.starts_with("lo") && !name.starts_with("cable") {
                traces.push(line.to_owned());
            }
        }
        for family in ["-4", "-6"] {
            for rule in self.ip(&format!("{family} rule")).lines() {
                let own = ["lookup local", "lookup main", "lookup default"];
                if !own.iter().any(|own| rule.trim_end().ends_with(own)) || rule.contains("proto") {
                    traces.push(rule.to_owned());
                }
            }
            for route in self.ip(&format!("{family} route show table all")).lines() {
                if !route.contains("dev cable") && !route.contains("dev lo") {
                    traces.push(route.to_owned());
                }
            }
        }
        traces
    }
}

/// A gateway and a station, each with one end of a cable: 192.0.2.1 and 2001:db8::1 at the gateway, .2 and
/// ::2 at the station.
pub struct Cabled {
    pub gateway: Machine,
    pub station: Machine,
}

impl Cabled {
    pub fn new() -> Self {
        let it = Cabled { gateway: Machine::new("gw"), station: Machine::new("st") };
        let (gateway, station) = (&it.gateway.name, &it.station.name);
        let cable = format!("link add cable netns {gateway} type veth peer name cable netns {station}");
        run("ip", &cable.split(' ').collect::<Vec<_>>());
        for (machine, last) in [(&it.gateway, 1), (&it.station, 2)] {
            machine.ip(&format!("addr add 192.0.2.{last}/24 dev cable"));
            machine.ip(&format!("addr add 2001:db8::{last}/64 dev cable nodad"));
            machine.ip("link set cable up");
        }
        it
    }
}

/// The same with a server behind the gateway, 198.51.100.2 and 2001:db8:1::2, whose default route is the
/// gateway.
pub struct Behind {
    pub cabled: Cabled,
    pub server: Machine,
}

impl Behind {
    pub fn new() -> Self {
        let (cabled, server) = (Cabled::new(), Machine::new("srv"));
        let gateway = &cabled.gateway;
        let cable =
            format!("link add cable2 netns {} type veth peer name cable netns {}", gateway.name, server.name);
        run("ip", &cable.split(' ').collect::<Vec<_>>());
        for (machine, interface, last) in [(gateway, "cable2", 1), (&server, "cable", 2)] {
            machine.ip(&format!("addr add 198.51.100.{last}/24 dev {interface}"));
            machine.ip(&format!("addr add 2001:db8:1::{last}/64 dev {interface} nodad"));
            machine.ip(&format!("link set {interface} up"));
        }
        server.ip("route add default via 198.51.100.1");
        server.ip("-6 route add default via 2001:db8:1::1");
        gateway.on(|| {
            for forwarding in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                fs::write(format!("/proc/sys/net/{forwarding}"), "1").unwrap();
            }
        });
        Behind { cabled, server }
    }
}

/// Machines on a medium where all hear everything: a bridge that learns no addresses. Their addresses are
/// 192.0.2.1 and so on.
pub struct Medium {
    pub machines: Vec<Machine>,
    air: Machine,
}

impl Medium {
    pub fn new(count: usize) -> Self {
        let air = Machine::new("air");
        air.ip("link add air type bridge ageing_time 0");
        air.ip("link set air up");
        let machines = (1..=count).map(|number| {
            let machine = Machine::new(&number.to_string());
            let cable = format!(
                "link add port{number} netns {} type veth peer name cable netns {}",
                air.name, machine.name
            );
            run("ip", &cable.split(' ').collect::<Vec<_>>());
            air.ip(&format!("link set port{number} master air up"));
            machine.ip(&format!("addr add 192.0.2.{number}/24 dev cable"));
            machine.ip("link set cable up");
            machine
        });
        Medium { machines: machines.collect(), air }
    }

    /// Prevents the machines of these numbers, from 1, from hearing each other.
    pub fn keep_apart(&self, numbers: &[usize]) {
        for number in numbers {
            self.air.run("bridge", &format!("link set dev port{number} isolated on"));
        }
    }
}

/// A gateway upstream of two ordinary access points, which are bridges, with a station at each. The second
/// station also has a receiver, `ear`, for the first access point's traffic. The gateway is 192.0.2.1, the
/// stations 192.0.2.2 and 192.0.2.3.
pub struct Upstream {
    pub gateway: Machine,
    pub stations: [Machine; 2],
    _access_points: [Machine; 2],
}

impl Upstream {
    pub fn new() -> Self {
        let machine = |name: &str| Machine::new(name);
        let (gateway, stations) = (machine("gw"), [machine("st1"), machine("st2")]);
        let access_points = [machine("ap1"), machine("ap2")];
        let cable = |one: &Machine, its: &str, other: &Machine, others: &str| {
            let cable = format!(
                "link add {its} netns {} type veth peer name {others} netns {}",
                one.name, other.name
            );
            run("ip", &cable.split(' ').collect::<Vec<_>>());
        };
        gateway.ip("link add cable type bridge");
        gateway.ip("addr add 192.0.2.1/24 dev cable");
        gateway.ip("link set cable up");
        for (number, access_point) in access_points.iter().enumerate() {
            access_point.ip("link add air type bridge ageing_time 0");
            access_point.ip("link set air up");
            let (wired, station) = (format!("wired{number}"), &stations[number]);
            cable(&gateway, &wired, access_point, "wired");
            gateway.ip(&format!("link set {wired} master cable up"));
            access_point.ip("link set wired master air up");
            cable(access_point, "radio", station, "cable");
            access_point.ip("link set radio master air up");
            station.ip(&format!("addr add 192.0.2.{}/24 dev cable", number + 2));
            station.ip("link set cable up");
        }
        cable(&access_points[0], "heard", &stations[1], "ear");
        access_points[0].ip("link set heard master air up");
        stations[1].ip("link set ear up");
        Upstream { gateway, stations, _access_points: access_points }
    }
}

pub fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A process `overheard up` on a machine.
pub struct Node {
    child: Child,
    log: PathBuf,
    socket: PathBuf,
}

impl Node {
    /// Starts `NAME.toml` of the site, with the status socket `NAME.sock`, and waits until it answers.
    pub fn start(site: &Site, machine: &Machine, name: &str) -> Node {
        Node::start_by(Path::new(PROGRAM), site, machine, name, &["up"])
    }

    /// The same by another program, or by another subcommand with its options.
    pub fn start_by(program: &Path, site: &Site, machine: &Machine, name: &str, command: &[&str]) -> Node {
        let mut node = Node::spawn_by(program, site, machine, name, command);
        let patience = Instant::now() + Duration::from_secs(20);
        while Command::new(PROGRAM)
            .args(["status", "--socket"])
            .arg(&node.socket)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| !status.success())
        {
            assert!(node.child.try_wait().unwrap().is_none(), "it ended: {}", node.log());
            assert!(Instant::now() < patience, "it does not answer: {}", node.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        node
    }

    /// Starts it without waiting.
    pub fn spawn(site: &Site, machine: &Machine, name: &str) -> Node {
        Node::spawn_by(Path::new(PROGRAM), site, machine, name, &["up"])
    }

    fn spawn_by(program: &Path, site: &Site, machine: &Machine, name: &str, command: &[&str]) -> Node {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let log = site.path().join(format!("{name}-{}.log", NUMBER.fetch_add(1, Ordering::Relaxed)));
        let out = File::create(&log).unwrap();
        // `ip netns exec` becomes the program: the child's process id is the node's.
        let child = Command::new("ip")
            .args(["netns", "exec", &machine.name])
            .arg(program)
            .args(command)
            .arg(format!("{name}.toml"))
            .current_dir(site.path())
            .stdin(Stdio::null())
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        Node { child, log, socket: site.path().join(format!("{name}.sock")) }
    }

    pub fn status(&self) -> serde_json::Value {
        let output = Command::new(PROGRAM).args(["status", "--json", "--socket"]).arg(&self.socket).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Makes it reload its configuration.
    pub fn reload(&self) {
        self.signal(Signal::HUP);
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by a signal, and waits.
    pub fn end(&mut self, signal: Signal) {
        self.signal(signal);
        self.child.wait().unwrap();
    }

    /// Ends it by a signal, and waits for its status.
    pub fn terminate(mut self, signal: Signal) -> ExitStatus {
        self.signal(signal);
        self.child.wait().unwrap()
    }

    /// Waits until it ends on its own.
    pub fn wait(mut self) -> (i32, String) {
        let code = self.child.wait().unwrap().code().unwrap();
        (code, self.log().lines().last().unwrap_or("").to_owned())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("{}:\n{}", self.log.display(), self.log());
        }
    }
}
