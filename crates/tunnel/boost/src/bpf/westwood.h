/* TCP Westwood (S. Mascolo, C. Casetti, M. Gerla, M. Sanadidi, R. Wang: TCP Westwood, ACM MobiCom 2001; section 2), as Linux has
 * it (Westwood+, which samples once a round trip), on the windows as they stand. The kernel lets no program call its own.
 *
 * The window grows as Reno's. After a loss it becomes what the path was seen to carry: the rate of what was acknowledged,
 * smoothed, times the least round trip. What is acknowledged is segments, and each costs the link as little as the flow's
 * ratio says: it is counted as wire bytes, so that the estimate is one of the link's rate (dr) and not of TCP's (tr). */
#pragma once

/* Shortest span in which the rate is sampled. */
#define WESTWOOD_SPAN_US 50000u
#define WESTWOOD_INITIAL_US 20000000u

struct westwood {
	/* Bytes in a millisecond, times 64: smoothed once, and twice. */
	__u32 once;
	__u32 rate;
	/* Since when, and how much was acknowledged since. */
	__u32 span_began_us;
	__u32 span_bytes;
	__u32 acknowledged;
	/* What duplicates have told of already. */
	__u32 accounted_bytes;
	__u32 round_trip_us;
	__u32 least_us;
	__u32 least_is_old;
	__u32 has_begun;
};

static __always_inline struct westwood *westwood_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u32 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

static __always_inline void westwood_begin(struct sock *sk)
{
	struct westwood *it = westwood_of(sk);

	it->once = it->rate = it->span_bytes = it->accounted_bytes = 0;
	it->round_trip_us = it->least_us = WESTWOOD_INITIAL_US;
	it->least_is_old = 1;
	it->acknowledged = tcp_sk(sk)->snd_una;
	it->span_began_us = now_us();
	it->has_begun = 0;
}

static __always_inline void westwood_hears(struct sock *sk, __s32 round_trip_us)
{
	if (round_trip_us > 0)
		westwood_of(sk)->round_trip_us = round_trip_us;
}

/* Smooths twice, each time by an eighth. */
static __always_inline void westwood_sample(struct westwood *it, __u32 span_us)
{
	__u32 sample = (__u64)it->span_bytes * 64 * 1000 / at_least(span_us, 1);

	if (!it->rate && !it->once) {
		it->once = it->rate = sample;
		return;
	}
	it->once = (7 * (__u64)it->once + sample) / 8;
	it->rate = (7 * (__u64)it->rate + it->once) / 8;
}

/* How many bytes an acknowledgment tells of: a duplicate says that one segment more has arrived, and what comes after
 * it tells of that segment again. */
static __always_inline __u32 westwood_counts(struct westwood *it, struct tcp_sock *tp, bool plain)
{
	__u32 bytes = tp->snd_una - it->acknowledged, mss = tp->mss_cache;

	it->acknowledged = tp->snd_una;
	if (plain)
		return bytes;
	if (!bytes) {
		it->accounted_bytes += mss;
		return mss;
	}
	if (bytes > mss) {
		if (it->accounted_bytes >= bytes) {
			it->accounted_bytes -= bytes;
			return mss;
		}
		bytes -= it->accounted_bytes;
		it->accounted_bytes = 0;
	}
	return bytes;
}

static __always_inline void westwood_acknowledged(struct sock *sk, __u32 flags, __u32 ratio)
{
	struct westwood *it = westwood_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 span_us = now_us() - it->span_began_us;

	if (!it->has_begun) {
		it->acknowledged = tp->snd_una;
		it->has_begun = 1;
	}
	if (span_us > at_least(it->round_trip_us, WESTWOOD_SPAN_US)) {
		westwood_sample(it, span_us);
		it->span_bytes = 0;
		it->span_began_us += span_us;
	}
	it->span_bytes += (__u64)westwood_counts(it, tp, !(flags & CA_ACK_SLOWPATH)) * ONE / at_least(ratio, ONE);
	if (it->least_is_old) {
		it->least_us = it->round_trip_us;
		it->least_is_old = 0;
	} else if (it->round_trip_us < it->least_us) {
		it->least_us = it->round_trip_us;
	}
}

/* What the path carries in its least round trip, in wire packets. */
static __always_inline __u32 westwood_path(struct sock *sk)
{
	struct westwood *it = westwood_of(sk);
	__u64 bytes = (__u64)it->rate * it->least_us / (64 * 1000);

	return at_least(bounded(bytes / at_least(tcp_sk(sk)->mss_cache, 1)), 2);
}
