//! Servers behind the gateway, and their clients beside the station.

use super::{PATIENCE, Pair};
use crate::support::namespaces::Machine;
use lab::Program;
use rustix::process::Signal;
use std::fs::{self, File};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Number of the user `nobody` and its group.
const NOBODY: u32 = 65_534;
/// A client that takes longer is killed.
const LONGEST_SECONDS: &str = "40";

/// A server on its port. Dropped, it is ended.
pub struct Server {
    program: Program,
    end: Signal,
}

impl Server {
    /// Starts it in a folder, and waits until it listens.
    fn start(pair: &Pair, mut command: Command, (package, port): (&str, u16), folder: &Path) -> Self {
        let log = File::create(folder.join("log")).unwrap();
        command.current_dir(folder).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut server = Server { program: pair.server().start(command, package), end: Signal::TERM };
        let end = Instant::now() + PATIENCE;
        while pair.server().on(|| TcpStream::connect((super::SERVER_IPV4, port)).is_err()) {
            let log = || fs::read_to_string(folder.join("log")).unwrap();
            let ended = server.program.wait_until(Instant::now() + Duration::from_millis(20)).unwrap();
            assert!(ended.is_none() && Instant::now() < end, "{package} does not listen: {}", log());
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.signal(self.end);
        let _ = self.program.wait_until(Instant::now() + Duration::from_secs(2));
    }
}

/// A folder of this name for a server and its client.
fn folder(pair: &Pair, name: &str) -> PathBuf {
    let folder = pair.site.path().join(name);
    fs::create_dir(&folder).unwrap();
    for folder in [pair.site.path(), &folder] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs a client and returns its output.
pub fn run(machine: &Machine, folder: &Path, words: &[&str], input: Option<&Path>) -> Vec<u8> {
    let mut client = Command::new("timeout");
    client.arg(LONGEST_SECONDS).args(words).current_dir(folder);
    client.stdin(input.map_or_else(Stdio::null, |input| File::open(input).unwrap().into()));
    let output = machine.on(|| client.output().unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {} {said}", output.status);
    output.stdout
}

/// nginx on 8080, and on 8443 with TLS and HTTP/2. Its folder has the file `content`.
pub fn nginx(pair: &Pair, content: &[u8]) -> (Server, PathBuf) {
    let folder = folder(pair, "web");
    fs::write(folder.join("content"), content).unwrap();
    let subject = "/CN=server.test";
    let names = "subjectAltName=DNS:server.test,IP:198.51.100.2,IP:2001:db8:1::2";
    let words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    let more = ["-keyout", "key.pem", "-out", "certificate.pem", "-days", "2", "-subj", subject];
    run(pair.server(), &folder, &[&words[..], &more, &["-addext", names]].concat(), None);
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary.iter().map(|kind| format!("{kind}_temp_path {kind};\n")).collect();
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n\
         {temporary} types {{}}\n server {{ root {};\n listen 8080; listen [::]:8080;\n\
         listen 8443 ssl http2; listen [::]:8443 ssl http2;\n\
         ssl_certificate certificate.pem; ssl_certificate_key key.pem; }} }}\n",
        folder.display()
    );
    fs::write(folder.join("nginx.conf"), configuration).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(&folder).args(["-c", "nginx.conf", "-e", "stderr"]);
    (Server::start(pair, command, ("nginx-light", 8080), &folder), folder)
}

/// sshd on 2222, for root with the folder's `key`. It sees a folder `/run` and a file `/etc/shadow` of its
/// own, so that neither the machine's state nor root's password matters.
pub fn sshd(pair: &Pair) -> (Server, PathBuf) {
    let folder = folder(pair, "shell");
    for key in ["key", "host"] {
        run(pair.server(), &folder, &["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], None);
    }
    fs::write(folder.join("shadow"), "root:*:20000:0:99999:7:::\n").unwrap();
    let at = folder.display();
    let configuration = format!(
        "Port 2222\nHostKey {at}/host\nAuthorizedKeysFile {at}/key.pub\nPermitRootLogin yes\nStrictModes no\n\
         UsePAM no\nPidFile none\nUseDNS no\nPrintMotd no\n"
    );
    fs::write(folder.join("sshd_config"), configuration).unwrap();
    let script = format!(
        "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && mount --bind shadow /etc/shadow && \
         exec \"$(command -v sshd)\" -D -e -f {at}/sshd_config"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    (Server::start(pair, command, ("openssh-server", 2222), &folder), folder)
}

/// rsync on 8730, with the folder's `tree`.
pub fn rsyncd(pair: &Pair) -> (Server, PathBuf) {
    let folder = folder(pair, "copies");
    let tree = format!("use chroot = no\nuid = root\ngid = root\n[tree]\npath = {}/tree\n", folder.display());
    fs::write(folder.join("rsyncd.conf"), tree).unwrap();
    let mut command = Command::new("rsync");
    command.args(["--daemon", "--no-detach", "--port=8730", "--config=rsyncd.conf"]);
    (Server::start(pair, command, ("rsync", 8730), &folder), folder)
}

/// The folder of PostgreSQL's own programs, which Debian keeps beside the path.
pub fn postgresql_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let found = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists());
    if found.is_none() {
        println!("left out: PostgreSQL's server is not installed (package postgresql)");
    }
    found
}

/// PostgreSQL on 5432, which trusts its user `tester`.
pub fn postgresql(pair: &Pair, programs: &Path) -> (Server, PathBuf) {
    let folder = folder(pair, "database");
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let of_nobody = |program: &str| {
        let mut command = Command::new(programs.join(program));
        command.args(["-D", "data"]).current_dir(&folder).uid(NOBODY).gid(NOBODY);
        command
    };
    let options = ["--no-sync", "--auth=trust", "--username=tester", "--locale=C", "--encoding=UTF8"];
    let made = of_nobody("initdb").args(options).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::write(folder.join("data/pg_hba.conf"), "host all all all trust\n").unwrap();
    let mut command = of_nobody("postgres");
    command.args(["-h", "*", "-p", "5432", "-k", "", "-c", "fsync=off"]);
    let mut server = Server::start(pair, command, ("postgresql", 5432), &folder);
    server.end = Signal::INT; // it asks its clients to leave
    (server, folder)
}

/// The script that [`websockets`] and its client run.
pub const WEBSOCKETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/streams/echo.py");

/// A server of WebSockets on 9000.
pub fn websockets(pair: &Pair) -> (Server, PathBuf) {
    let folder = folder(pair, "sockets");
    let mut command = Command::new("/usr/bin/python3");
    command.args([WEBSOCKETS, "serve", "9000"]);
    (Server::start(pair, command, ("python3-websockets", 9000), &folder), folder)
}

/// Whether Debian's Python has WebSockets; prints a line if it has not.
pub fn has_websockets() -> bool {
    let tried = Command::new("/usr/bin/python3").args(["-c", "import websockets"]).output();
    let found = tried.is_ok_and(|output| output.status.success());
    if !found {
        println!("left out: python3 has no websockets (package python3-websockets)");
    }
    found
}

/// A server by socat on a port: each connection's bytes go through a program, which answers at their end.
pub fn socat(pair: &Pair, port: u16, program: &str) -> (Server, PathBuf) {
    let folder = folder(pair, &format!("socat{port}"));
    let mut command = Command::new("socat");
    command.args(["-t", LONGEST_SECONDS, &format!("TCP6-LISTEN:{port},fork,reuseaddr,ipv6only=0")]);
    command.arg(format!("SYSTEM:{program}"));
    (Server::start(pair, command, ("socat", port), &folder), folder)
}
