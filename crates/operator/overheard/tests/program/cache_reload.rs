//! `overheard cache` at SIGHUP: it adopts its configuration, and keeps connections and the store.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::chain::Chain;
use crate::support::origin::content;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::time::{Duration, Instant};

/// Changes the configuration, sends the signal, and waits for a line of the log.
fn reload(chain: &Chain, change: impl FnOnce(String) -> String, sign: &str) {
    let file = chain.folder(1).join("cache.toml");
    let before = chain.log(1).matches(sign).count();
    fs::write(&file, change(fs::read_to_string(&file).unwrap())).unwrap();
    let process = i32::try_from(chain.process(1)).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::HUP).unwrap();
    let end = Instant::now() + Duration::from_secs(15);
    while chain.log(1).matches(sign).count() == before {
        assert!(Instant::now() < end, "{sign} is not in\n{}", chain.log(1));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rules(chain: &Chain) -> String {
    String::from_utf8(chain.at(1, "nft", &["list", "ruleset"]).stdout).unwrap()
}

#[test]
fn a_reload_keeps_connections_and_store_and_the_end_leaves_nothing() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(
        "allow_destinations = [\"10.76.0.0/15\"]\n[transparent]\n[forward]\nlisten = \"0.0.0.0:3128\"\n",
    );
    let kept = chain.url("/fixed/30000");
    assert_eq!(chain.curl(&[&kept]).0, content("/fixed/30000", 30_000));
    let process = chain.process(1);

    // A download lasts while the configuration changes: its client is not served any more.
    let (slow, url) = ("/slow/2000000", chain.url("/slow/2000000"));
    std::thread::scope(|scope| {
        let download = scope.spawn(|| chain.curl(&[&url]));
        let end = Instant::now() + Duration::from_secs(10);
        while chain.origin.requests(slow) == 0 {
            assert!(Instant::now() < end, "{}", chain.log(1));
            std::thread::sleep(Duration::from_millis(10));
        }
        let others = |text: String| text.replace("10.77.0.0/16", "10.99.0.0/16");
        reload(&chain, others, "the configuration is taken up: [cache] clients\n");
        assert!(!download.is_finished(), "the reload came during the download");
        let (body, code) = download.join().unwrap();
        assert_eq!((body == content(slow, 2_000_000), code), (true, 0), "{}", chain.log(1));
    });
    assert!(
        rules(&chain).contains("10.99.0.0/16") && !rules(&chain).contains("10.77.0.0/16"),
        "{}",
        rules(&chain)
    );
    let proxy = ["--proxy", "http://10.77.0.2:3128", "--noproxy", "nothing", &kept];
    let (body, code) = chain.curl(&proxy);
    assert!(code != 0 && body.is_empty(), "a foreign client is refused");
    chain.curl(&[&kept]);
    assert_eq!(chain.origin.requests("/fixed/30000"), 2, "its connections are not intercepted");

    // The way back, and a key that needs a restart.
    let back = |text: String| text.replace("10.99.0.0/16", "10.77.0.0/16") + "[store]\nmemory_mib = 32\n";
    reload(&chain, back, "these keys and tables need a restart, and stay as they are: [store] memory_mib\n");
    assert_eq!(chain.curl(&proxy).0, content("/fixed/30000", 30_000), "{}", chain.log(1));
    assert_eq!(chain.curl(&[&kept]).0, content("/fixed/30000", 30_000));
    assert_eq!(chain.origin.requests("/fixed/30000"), 2, "the store is kept");

    // A table without keys goes: its interception stays until a restart, with the clients of the file.
    let without = |text: String| text.replace("[transparent]\n", "").replace("10.77.0.0/16", "10.77.0.0/15");
    reload(&chain, without, "need a restart, and stay as they are: [store] memory_mib, [transparent]\n");
    assert!(rules(&chain).contains("10.76.0.0/15"), "{}", rules(&chain));
    assert_eq!(chain.curl(&[&kept]).0, content("/fixed/30000", 30_000));
    assert_eq!(chain.origin.requests("/fixed/30000"), 2, "it is intercepted");

    // A mistake changes nothing.
    let wrong = |text: String| text.replace("memory_mib", "memory_mb");
    reload(&chain, wrong, "the configuration is not taken up, and the cache stays as it is: ");
    assert!(chain.log(1).contains("memory_mb"), "{}", chain.log(1));
    assert_eq!(chain.curl(&[&kept]).0, content("/fixed/30000", 30_000));
    assert_eq!((chain.origin.requests("/fixed/30000"), chain.process(1)), (2, process));
    assert!(!chain.log(1).contains("panicked"), "{}", chain.log(1));

    chain.stop(1);
    assert_eq!(rules(&chain), "");
    assert!(!chain.folder(1).join("status").exists(), "the status socket is gone");
}
