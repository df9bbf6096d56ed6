//! Other mechanisms for TCP beside streams: none works on the bytes of a stream.

use super::{Pair, SERVER_IPV4, content, return_bytes};
use crate::boost::loads;
use crate::support::namespaces::possible;

/// Returns bytes through a gateway with Snoop and a station with boost. The flows that Snoop knows then, and
/// those that boost knows, as long as the connection is open.
fn flows_beside(streams: bool, boosts: bool) -> [u64; 2] {
    let pair = Pair::of(None, |site| {
        // where the hop repairs what it loses, nothing is left to Snoop
        let top = format!("streams = {streams}\nsnoop = true\n[reduce]\npolicy = \"off\"");
        site.prepend("gateway", &top);
        site.prepend("station", &format!("streams = {streams}"));
        if boosts {
            site.add("station", "[tunnel]", "boost = true\nboost_control = \"cubic\"");
        }
    });
    let content = content(6, 1_000_000);
    let (mut near, mut far) = pair.connected(SERVER_IPV4);
    return_bytes(&mut near, &mut far, &content);
    if streams {
        pair.assert_all_went_as_streams(2 * content.len() as u64);
    }
    let [gateway, station] =
        [&pair.gateway, &pair.station].map(|node| node.status()["node"]["peers"][0].clone());
    [&gateway["recover"]["flows"], &station["boosted_flows"]].map(|flows| flows.as_u64().unwrap_or(0))
}

#[test]
fn neither_snoop_nor_boost_works_on_streams() {
    if !possible() {
        return;
    }
    let boosts = loads();
    let [snooped, boosted] = flows_beside(false, boosts);
    assert!(snooped > 0 && (boosted > 0) == boosts, "both work on packets: {snooped} {boosted}");
    assert_eq!(flows_beside(true, boosts), [0, 0]);
}
