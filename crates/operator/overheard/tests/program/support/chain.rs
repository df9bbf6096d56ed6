//! Routers in a row between a client and an origin, each in a namespace.
//!
//! Link `n` joins place `n` to place `n + 1` as 10.77.n.0/24 and fd77:n::/64, `.1` on the left and `.2` on
//! the right. Place 0 is the client, the last one the origin.

use super::PROGRAM;
use super::origin::Origin;
use lab::{Namespace, Program, Run};
use std::fmt::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

pub struct Chain {
    // Dropped in this order: programs before their namespaces, and these before their run.
    pub caches: Vec<Option<Program>>,
    pub places: Vec<Namespace>,
    pub origin: Origin,
    pub run: Run,
    /// Further lines of each router's configuration.
    pub configurations: Vec<String>,
}

impl Chain {
    /// `None` if this machine or user cannot; a line gives the reason.
    pub fn of(routers: usize) -> Option<Self> {
        let run = match Run::begin() {
            Ok(run) => run,
            Err(why) => {
                eprintln!("left out: {why}");
                return None;
            }
        };
        let names: Vec<String> = (0..routers + 2).map(|place| format!("p{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let places = Namespace::make(&run, &names).unwrap();
        let last = routers + 1;
        for (at, place) in places.iter().enumerate() {
            place
                .set_parameters([
                    ("net.ipv4.ip_forward", "1"),
                    ("net.ipv6.conf.all.forwarding", "1"),
                    ("net.ipv6.conf.default.accept_dad", "0"),
                ])
                .unwrap();
            place.ip("link set lo up\n").unwrap();
            if at < last {
                let (here, there) = (place.name(), places[at + 1].name());
                let line = format!("link add right netns {here} type veth peer name left netns {there}\n");
                places[0].ip(&line).unwrap();
            }
        }
        for (at, place) in places.iter().enumerate() {
            let mut lines = String::new();
            if at < last {
                let _ = writeln!(lines, "addr add 10.77.{at}.1/24 dev right\nlink set right up");
                let _ = writeln!(lines, "addr add fd77:{at}::1/64 dev right nodad");
                for beyond in at + 1..last {
                    let _ = writeln!(lines, "route add 10.77.{beyond}.0/24 via 10.77.{at}.2");
                    let _ = writeln!(lines, "route add fd77:{beyond}::/64 via fd77:{at}::2");
                }
            }
            if at > 0 {
                let link = at - 1;
                let _ = writeln!(lines, "addr add 10.77.{link}.2/24 dev left\nlink set left up");
                let _ = writeln!(lines, "addr add fd77:{link}::2/64 dev left nodad");
                for before in 0..link {
                    let _ = writeln!(lines, "route add 10.77.{before}.0/24 via 10.77.{link}.1");
                    let _ = writeln!(lines, "route add fd77:{before}::/64 via fd77:{link}::1");
                }
            }
            place.ip(&lines).unwrap();
        }
        let origin = places[last].enter(|| Origin::start(80)).unwrap();
        let caches = (0..routers).map(|_| None).collect();
        Some(Chain { caches, places, origin, run, configurations: vec![String::new(); routers] })
    }

    /// The origin's address, as a host in a URI.
    pub fn host(&self) -> String {
        format!("10.77.{}.2", self.places.len() - 2)
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.host())
    }

    pub fn folder(&self, router: usize) -> PathBuf {
        let folder = self.run.folder().join(format!("r{router}"));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Starts the cache of router `router` (from 1), and returns when it listens. Files `resolv.conf` and
    /// `hosts` in its folder replace the system's.
    pub fn start(&mut self, router: usize) {
        let folder = self.folder(router);
        let config = format!(
            "[cache]\nname = \"r{router}\"\nclients = [\"10.77.0.0/16\", \"fd77::/16\"]\n{}",
            self.configurations[router - 1]
        );
        std::fs::write(folder.join("cache.toml"), config).unwrap();
        let opened = |chain: &Self| chain.log(router).matches("the cache is open").count();
        let before = opened(self);
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let instead: String = ["resolv.conf", "hosts"]
            .iter()
            .filter(|file| folder.join(file).exists())
            .map(|file| format!("mount --bind {file} /etc/{file} && "))
            .collect();
        let mut command = match instead.is_empty() {
            true => Command::new(PROGRAM),
            false => {
                let mut command = Command::new("unshare");
                let script = format!("{instead}exec \"$0\" \"$@\"");
                command.args(["--mount", "--propagation", "private", "sh", "-c", &script, PROGRAM]);
                command
            }
        };
        command.args(["cache", "cache.toml", "--socket", "status"]).current_dir(&folder);
        command.env("OVERHEARD_LOG", "debug,hyper_util=info").stderr(log);
        let mut program = Program::start(&self.places[router], command, "overheard").unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while opened(self) == before {
            let ended = program.wait_until(Instant::now() + Duration::from_millis(20)).unwrap();
            assert!(ended.is_none() && Instant::now() < until, "{}", self.log(router));
        }
        self.caches[router - 1] = Some(program);
    }

    /// Starts a transparent cache at every router, each with the same further lines.
    pub fn start_all(&mut self, lines: &str) {
        for router in 1..=self.caches.len() {
            self.configurations[router - 1] = lines.to_owned();
            self.start(router);
        }
    }

    pub fn log(&self, router: usize) -> String {
        std::fs::read_to_string(self.folder(router).join("log")).unwrap_or_default()
    }

    /// Ends a cache by a signal.
    pub fn stop(&mut self, router: usize) {
        if let Some(mut cache) = self.caches[router - 1].take() {
            cache.stop();
        }
    }

    /// The process id of a router's cache.
    pub fn process(&self, router: usize) -> u32 {
        let listed = Command::new("ip").args(["netns", "pids", self.places[router].name()]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let is_cache = |process: &&str| {
            let words = std::fs::read_to_string(format!("/proc/{process}/cmdline"));
            words.is_ok_and(|words| words.contains("\0cache\0"))
        };
        listed.split_whitespace().find(is_cache).unwrap().parse().unwrap()
    }

    /// The status of a router's cache.
    pub fn status(&self, router: usize) -> serde_json::Value {
        let stream = std::os::unix::net::UnixStream::connect(self.folder(router).join("status")).unwrap();
        serde_json::from_reader(stream).unwrap()
    }

    /// Runs a program at a place.
    pub fn at(&self, place: usize, program: &str, args: &[&str]) -> Output {
        self.places[place].enter(|| Command::new(program).args(args).output().unwrap()).unwrap()
    }

    /// Fetches with curl from the client. Returns the body and the exit code.
    pub fn curl(&self, args: &[&str]) -> (Vec<u8>, i32) {
        let mut all = vec!["--disable", "--silent", "--show-error", "--max-time", "60", "--noproxy", "*"];
        all.extend_from_slice(args);
        let output = self.at(0, "curl", &all);
        (output.stdout, output.status.code().unwrap_or(-1))
    }

    /// Sends these bytes to port 80 of the origin, and returns the answer.
    pub fn say(&self, bytes: &[u8]) -> String {
        use std::io::{Read as _, Write as _};
        let address = format!("{}:80", self.host());
        let said = self.places[0].enter(|| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
            stream.write_all(bytes).unwrap();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            answer
        });
        String::from_utf8_lossy(&said.unwrap()).into_owned()
    }
}
