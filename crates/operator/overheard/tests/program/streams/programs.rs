//! Programs that people use.

use super::servers::{self, WEBSOCKETS, run};
use super::{Pair, at_once, content};
use crate::support::has;
use crate::support::namespaces::possible;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const BYTES: usize = 4_000_000;

#[test]
fn programs_that_people_use_work_through_streams() {
    if !possible() {
        return;
    }
    let pair = Pair::new("streams = true", None);
    at_once(&[
        ("curl", &|| curl(&pair)),
        ("ssh", &|| ssh(&pair)),
        ("rsync", &|| rsync(&pair)),
        ("psql", &|| psql(&pair)),
        ("websockets", &|| websockets(&pair)),
    ]);
    pair.assert_all_went_as_streams(BYTES as u64);
}

fn curl(pair: &Pair) {
    if !(has("curl", "curl") && has("nginx", "nginx-light") && has("openssl", "openssl")) {
        return;
    }
    let content = content(1, BYTES);
    let (_server, folder) = servers::nginx(pair, &content);
    let fetch = |name: &str, options: &str, url: &str| {
        let out = format!("fetched-{name}");
        let words = format!("curl --disable --noproxy * -sS --fail --max-time 35 -o {out} {options} {url}");
        let words: Vec<&str> = words.split(' ').chain(["-w", "%{http_version} %{remote_ip}"]).collect();
        let said = String::from_utf8(run(pair.client(), &folder, &words, None)).unwrap();
        assert!(fs::read(folder.join(out)).unwrap() == content, "{url} by {options}");
        said
    };
    let (plain, secure) = ("--http1.1", "--http2 --cacert certificate.pem");
    at_once(&[
        ("HTTP/1.1 over IPv4", &|| {
            assert_eq!(fetch("1", plain, "http://198.51.100.2:8080/content"), "1.1 198.51.100.2");
        }),
        ("HTTP/1.1 over IPv6", &|| {
            assert_eq!(fetch("2", plain, "http://[2001:db8:1::2]:8080/content"), "1.1 2001:db8:1::2");
        }),
        ("HTTP/2 over IPv4", &|| {
            assert_eq!(fetch("3", secure, "https://198.51.100.2:8443/content"), "2 198.51.100.2");
        }),
        ("HTTP/2 over IPv6", &|| {
            assert_eq!(fetch("4", secure, "https://[2001:db8:1::2]:8443/content"), "2 2001:db8:1::2");
        }),
    ]);
}

fn ssh(pair: &Pair) {
    if !(has("ssh", "openssh-client") && has("sshd", "openssh-server")) {
        return;
    }
    let (_server, folder) = servers::sshd(pair);
    let content = content(2, BYTES);
    fs::write(folder.join("content"), &content).unwrap();
    let on_server = |command: &str, input: Option<&Path>| {
        let words = "ssh -F none -p 2222 -i key -o BatchMode=yes -o IdentitiesOnly=yes -o LogLevel=ERROR \
                     -o UserKnownHostsFile=known -o GlobalKnownHostsFile=none -o StrictHostKeyChecking=no \
                     root@198.51.100.2";
        let words: Vec<&str> = words.split_whitespace().chain([command]).collect();
        run(pair.client(), &folder, &words, input)
    };
    assert_eq!(
        on_server("echo $SSH_CONNECTION | cut -d' ' -f 1,3,4", None),
        b"10.98.0.2 198.51.100.2 2222\n"
    );
    let copy = folder.join("copy");
    on_server(&format!("cat > {}", copy.display()), Some(&folder.join("content")));
    assert!(fs::read(&copy).unwrap() == content, "there");
    assert!(on_server(&format!("cat {}", copy.display()), None) == content, "and back");
}

/// The files of a tree by their paths.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let folders = fs::read_dir(folder).unwrap().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten());
    files
        .map(|file| {
            let path = file.path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

fn rsync(pair: &Pair) {
    if !has("rsync", "rsync") {
        return;
    }
    let (_server, folder) = servers::rsyncd(pair);
    for number in 0..150 {
        let part = folder.join(format!("tree/{}", number % 7));
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join(number.to_string()), content(number + 1, number as usize * 300)).unwrap();
    }
    let wanted = tree(&folder.join("tree"));
    assert_eq!(wanted.len(), 150);
    let copied = || {
        let words = "rsync --archive --itemize-changes rsync://198.51.100.2:8730/tree/ copy/";
        let said = run(pair.client(), &folder, &words.split(' ').collect::<Vec<_>>(), None);
        assert!(tree(&folder.join("copy")) == wanted, "the trees are equal");
        String::from_utf8(said).unwrap()
    };
    assert_eq!(copied().lines().filter(|line| line.starts_with(">f")).count(), 150);
    assert_eq!(copied(), "", "the second run copies nothing");
}

fn psql(pair: &Pair) {
    if !has("psql", "postgresql-client") {
        return;
    }
    let Some(programs) = servers::postgresql_programs() else { return };
    let (_server, folder) = servers::postgresql(pair, &programs);
    let asked = |query: &str, input: Option<&Path>| {
        let words = ["psql", "-X", "-h", "198.51.100.2", "-p", "5432", "-U", "tester", "-Atq", "-c", query];
        String::from_utf8(run(pair.client(), &folder, &[&words[..], &["postgres"]].concat(), input)).unwrap()
    };
    assert_eq!(asked("SELECT 40 + 2, inet_client_addr()", None), "42|10.98.0.2\n");
    let rows: String = (1..=150_000u64).map(|row| format!("{row}\t{}\n", row * row * 7919)).collect();
    fs::write(folder.join("rows"), &rows).unwrap();
    asked("CREATE TABLE numbers (row bigint, value bigint)", None);
    asked("COPY numbers FROM STDIN", Some(&folder.join("rows")));
    assert!(asked("SELECT * FROM numbers ORDER BY row", None) == rows.replace('\t', "|"), "a large result");
}

fn websockets(pair: &Pair) {
    if !servers::has_websockets() {
        return;
    }
    let (_server, folder) = servers::websockets(pair);
    let words = ["/usr/bin/python3", WEBSOCKETS, "talk", "ws://198.51.100.2:9000/"];
    let said = run(pair.client(), &folder, &words, None);
    assert!(said.starts_with(b"told "), "{}", String::from_utf8_lossy(&said));
    let complaints = fs::read_to_string(folder.join("log")).unwrap();
    assert!(!complaints.contains("AssertionError"), "{complaints}");
}
