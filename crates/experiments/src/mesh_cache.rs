//! *Mitigating the Gateway Bottleneck via Transparent Cooperative Caching in Wireless Mesh Networks* (S. Das, H. Pucha,
//! Y. C. Hu, Purdue TR-ECE-06, 2006), run again: real caches, real TCP, real curl.
//!
//! What is here is section 6.1, per-hop against end-to-end transport ([`transport`]: figures 4, 5 and 6). Its chain is
//! one of 802.11b links that have the channel to themselves each: neighbouring hops do not contend as the paper's do, so
//! that throughput falls less with the length of the way than there. What is compared runs over the same links.

mod transport;

pub use transport::{FIGURES, run};

/// The paper.
pub const SOURCE: &str = "S. M. Das, H. Pucha, Y. C. Hu: Mitigating the Gateway Bottleneck via Transparent Cooperative \
                          Caching in Wireless Mesh Networks. Purdue TR-ECE-06, 2006";
