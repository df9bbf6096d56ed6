/* RE-aware congestion control: the kernel's cubic and reno, and vegas, veno and westwood as the kernel has them, kept on the window that they would have without redundancy
 * elimination (the reference, in wire packets), while the socket's is larger by the number of segments that a wire packet
 * of its flow carries (REboost, section III-A: dr = ref, tr >= ref).
 *
 * The two units meet here and nowhere else. Before a function of the wrapped controller runs, snd_cwnd and snd_ssthresh
 * are put into wire packets, and afterwards back into segments; what is acknowledged is told in wire packets, with the
 * remainder carried; what ssthresh() returns is made segments. A wrapper that converts less sends several times the
 * reference.
 *
 * Between calls the kernel changes snd_cwnd and snd_ssthresh by itself (recovery, timeouts, undoing, idling). Such a value
 * differs from what was written here, and stands for as many wire packets as the ratio of then says. */
#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* The kernel lets programs under a compatible licence alone call its controllers. */
char _license[] SEC("license") = "Dual MIT/GPL";

extern void cubictcp_init(struct sock *sk) __ksym;
extern __u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, __u8 new_state) __ksym;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 window, __u32 acked) __ksym;

/* Ratios are in 1024ths. */
#define ONE 1024u
#define MAX_RATIO (64 * ONE)
/* A ratio that nobody has renewed for so long is not believed: whoever wrote it may be gone. */
#define STALE_NS 5000000000ull
/* What no window falls below, and no threshold. */
#define LEAST_WINDOW 1u
#define LEAST_THRESHOLD 2u

/* A connection, as its own host sees it; IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2). */
struct flow {
	__be32 local[4];
	__be32 remote[4];
	__u16 local_port;
	__u16 remote_port;
};

struct ratio {
	__u64 told_ns;
	__u32 ratio;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct flow);
	__type(value, struct ratio);
} ratios SEC(".maps");

/* The end of a socket's private room for its controller; the wrapped one's state is at its beginning. */
struct boosted {
	/* The reference window, and the snd_cwnd that was made of it. */
	__u32 window;
	__u32 written;
	/* The same of snd_ssthresh. */
	__u32 threshold;
	__u32 written_threshold;
	/* By which both were made. */
	__u32 ratio;
	/* What was acknowledged and not told yet, in 1024ths of a segment. */
	__u32 remainder;
};

#define PRIVATE_BYTES sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv)
#define WRAPPED_BYTES (PRIVATE_BYTES - sizeof(struct boosted))

static __always_inline struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static __always_inline struct boosted *boosted_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv + WRAPPED_BYTES;
}

/* On a kernel whose cubic needs the room, it runs as if it were not wrapped. */
static __always_inline bool has_room(void)
{
	return bpf_core_type_size(struct bictcp) <= WRAPPED_BYTES;
}

static __always_inline __u32 bounded(__u64 value)
{
	return value >= TCP_INFINITE_SSTHRESH ? TCP_INFINITE_SSTHRESH - 1 : value;
}

static __always_inline __u32 at_least(__u32 value, __u32 least)
{
	return value < least ? least : value;
}

/* A wire packet is being filled all the time, half of one on average: its segments are under way for TCP and not on the
 * link, which carries the reference beside them. */
static __always_inline __u32 to_segments(__u32 wire_packets, __u32 ratio)
{
	if (ratio <= ONE)
		return wire_packets;
	return bounded(((__u64)wire_packets * ratio + ratio / 2 + ONE / 2) / ONE);
}

/* Gives back what to_segments() was given, whatever was rounded there. */
static __always_inline __u32 to_wire_packets(__u32 segments, __u32 ratio)
{
	if (ratio <= ONE)
		return segments;
	return bounded((__u64)segments * ONE / ratio);
}

static __always_inline __u32 window_to_wire_packets(__u32 segments, __u32 ratio)
{
	return at_least(to_wire_packets(segments, ratio), LEAST_WINDOW);
}

/* A threshold that was never met is none in either unit. */
static __always_inline __u32 threshold_to_segments(__u32 threshold, __u32 ratio)
{
	return threshold >= TCP_INFINITE_SSTHRESH ? threshold : to_segments(threshold, ratio);
}

static __always_inline __u32 threshold_to_wire_packets(__u32 threshold, __u32 ratio)
{
	if (threshold >= TCP_INFINITE_SSTHRESH)
		return threshold;
	return at_least(to_wire_packets(threshold, ratio), LEAST_THRESHOLD);
}

static __always_inline void name(struct sock *sk, struct flow *flow)
{
	struct sock_common *common = &sk->__sk_common;

	__builtin_memset(flow, 0, sizeof(*flow));
	if (common->skc_family == AF_INET) {
		flow->local[2] = flow->remote[2] = __builtin_bswap32(0xffff);
		flow->local[3] = common->skc_rcv_saddr;
		flow->remote[3] = common->skc_daddr;
	} else if (bpf_core_field_exists(common->skc_v6_daddr)) {
		for (int i = 0; i < 4; i++) {
			flow->local[i] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
			flow->remote[i] = common->skc_v6_daddr.in6_u.u6_addr32[i];
		}
	}
	flow->local_port = common->skc_num;
	flow->remote_port = __builtin_bswap16(common->skc_dport);
}

/* How many segments a wire packet of the flow carries; one where nobody says. */
static __always_inline __u32 ratio_of(struct sock *sk)
{
	struct flow flow;
	struct ratio *told;
	__u32 ratio;

	name(sk, &flow);
	told = bpf_map_lookup_elem(&ratios, &flow);
	if (!told || bpf_ktime_get_ns() - told->told_ns > STALE_NS)
		return ONE;
	ratio = told->ratio;
	return ratio < ONE ? ONE : ratio > MAX_RATIO ? MAX_RATIO : ratio;
}

/* Puts the socket's windows into wire packets, and says what they were. */
struct windows {
	__u32 window;
	__u32 threshold;
};

static __always_inline struct windows enter(struct sock *sk, struct boosted *it)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct windows segments = { tp->snd_cwnd, tp->snd_ssthresh };
	/* the verifier knows nothing of what is stored in a socket */
	__u32 ratio = at_least(it->ratio, ONE);

	if (segments.window != it->written) {
		it->window = window_to_wire_packets(segments.window, ratio);
		it->written = segments.window;
	}
	if (segments.threshold != it->written_threshold) {
		it->threshold = threshold_to_wire_packets(segments.threshold, ratio);
		it->written_threshold = segments.threshold;
	}
	tp->snd_cwnd = it->window;
	tp->snd_ssthresh = it->threshold;
	return segments;
}

/* Takes over what the wrapped controller made of the windows, and puts the socket's back into segments by `ratio`. */
static __always_inline void leave(struct sock *sk, struct boosted *it, __u32 ratio)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 written;

	it->window = tp->snd_cwnd;
	it->threshold = tp->snd_ssthresh;
	it->ratio = ratio;
	written = to_segments(it->window, ratio);
	if (written > tp->snd_cwnd_clamp)
		written = tp->snd_cwnd_clamp;
	it->written = written;
	it->written_threshold = threshold_to_segments(it->threshold, ratio);
	tp->snd_cwnd = it->written;
	tp->snd_ssthresh = it->written_threshold;
}

/* As `leave`, where the window is not to change: no more than the wrapped controller itself has changed. */
static __always_inline void leave_as_it_was(struct sock *sk, struct boosted *it, struct windows segments)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_ssthresh != it->threshold) {
		it->threshold = tp->snd_ssthresh;
		it->written_threshold = threshold_to_segments(it->threshold, at_least(it->ratio, ONE));
		tp->snd_ssthresh = it->written_threshold;
	} else {
		tp->snd_ssthresh = segments.threshold;
	}
	tp->snd_cwnd = segments.window;
}

static __always_inline void begin(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct boosted *it = boosted_of(sk);

	it->window = it->written = tp->snd_cwnd;
	it->threshold = it->written_threshold = tp->snd_ssthresh;
	it->ratio = ONE;
	it->remainder = 0;
	/* the initial window (RFC 6928) is one of wire packets, too */
	leave(sk, it, ratio_of(sk));
}

/* Whether the window is what keeps the socket from sending: the kernel's own question, which it asks in segments. */
static __always_inline bool is_limited_by_window(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* How many wire packets `acked` more segments are. */
static __always_inline __u32 acknowledged(struct boosted *it, __u32 acked, __u32 ratio)
{
	__u64 sum = (__u64)acked * ONE + it->remainder;
	__u32 wire_packets = sum / ratio;

	it->remainder = sum - (__u64)wire_packets * ratio;
	return wire_packets;
}

/* What the kernel lets no program call is written again. */
#include "vegas.h"
#include "veno.h"
#include "westwood.h"

_Static_assert(sizeof(struct vegas) <= WRAPPED_BYTES && sizeof(struct veno) <= WRAPPED_BYTES &&
		       sizeof(struct westwood) <= WRAPPED_BYTES,
	       "a socket has room for them");

/* Cubic and reno ask themselves whether the window is what keeps the connection from sending; in wire packets they could not
 * tell. The controller runs `when` that holds, and is told of no acknowledgments where it does not. */
#define WRAP_WINDOW(controller, ssthresh_of, cong_avoid_of, when)                                                    \
	SEC("struct_ops") __u32 BPF_PROG(controller##_ssthresh, struct sock *sk)                                    \
	{                                                                                                          \
		struct boosted *it = boosted_of(sk);                                                                \
		struct windows segments;                                                                            \
		__u32 threshold;                                                                                    \
                                                                                                                   \
		if (!has_room())                                                                                    \
			return ssthresh_of(sk);                                                                     \
		segments = enter(sk, it);                                                                           \
		threshold = ssthresh_of(sk);                                                                        \
		leave_as_it_was(sk, it, segments);                                                                  \
		it->threshold = threshold;                                                                          \
		it->written_threshold = threshold_to_segments(threshold, at_least(it->ratio, ONE));                 \
		return it->written_threshold;                                                                       \
	}                                                                                                          \
                                                                                                                   \
	SEC("struct_ops") void BPF_PROG(controller##_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)           \
	{                                                                                                          \
		struct boosted *it = boosted_of(sk);                                                                \
		__u32 ratio, wire_packets;                                                                          \
		bool limited;                                                                                       \
                                                                                                                   \
		if (!has_room()) {                                                                                  \
			cong_avoid_of(sk, ack, acked);                                                              \
			return;                                                                                     \
		}                                                                                                  \
		ratio = ratio_of(sk);                                                                               \
		limited = is_limited_by_window(tcp_sk(sk));                                                         \
		enter(sk, it);                                                                                      \
		wire_packets = acknowledged(it, acked, ratio);                                                      \
		if (when)                                                                                           \
			cong_avoid_of(sk, ack, limited ? wire_packets : 0);                                         \
		leave(sk, it, ratio);                                                                               \
	}

WRAP_WINDOW(cubic, cubictcp_recalc_ssthresh, cubictcp_cong_avoid, limited && wire_packets)
WRAP_WINDOW(reno, tcp_reno_ssthresh, tcp_reno_cong_avoid, limited && wire_packets)
WRAP_WINDOW(vegas, tcp_reno_ssthresh, vegas_grow, 1)
WRAP_WINDOW(veno, veno_threshold, veno_grow, limited && wire_packets)
WRAP_WINDOW(westwood, tcp_reno_ssthresh, tcp_reno_cong_avoid, limited && wire_packets)

SEC("struct_ops") void BPF_PROG(cubic_init, struct sock *sk)
{
	cubictcp_init(sk);
	if (has_room())
		begin(sk);
}

SEC("struct_ops") void BPF_PROG(reno_init, struct sock *sk)
{
	begin(sk);
}

SEC("struct_ops") void BPF_PROG(cubic_set_state, struct sock *sk, __u8 new_state)
{
	cubictcp_state(sk, new_state);
}

SEC("struct_ops") void BPF_PROG(cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	cubictcp_cwnd_event(sk, event);
}

/* Slow start ends here where round trips grow (HyStart), and then the threshold becomes the window. */
SEC("struct_ops") void BPF_PROG(cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct boosted *it = boosted_of(sk);
	struct windows segments;

	if (!has_room()) {
		cubictcp_acked(sk, sample);
		return;
	}
	segments = enter(sk, it);
	cubictcp_acked(sk, sample);
	leave_as_it_was(sk, it, segments);
}

SEC("struct_ops") void BPF_PROG(vegas_init, struct sock *sk)
{
	vegas_begin(sk);
	begin(sk);
}

SEC("struct_ops") void BPF_PROG(vegas_set_state, struct sock *sk, __u8 new_state)
{
	vegas_enable(sk, new_state == TCP_CA_OPEN);
}

/* What was learnt before a pause says nothing of now. */
SEC("struct_ops") void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		vegas_begin(sk);
}

SEC("struct_ops") void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	vegas_hears(sk, sample->rtt_us);
}

SEC("struct_ops") void BPF_PROG(veno_init, struct sock *sk)
{
	veno_begin(sk);
	begin(sk);
}

SEC("struct_ops") void BPF_PROG(veno_set_state, struct sock *sk, __u8 new_state)
{
	veno_enable(sk, new_state == TCP_CA_OPEN);
}

SEC("struct_ops") void BPF_PROG(veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START || event == CA_EVENT_CWND_RESTART)
		veno_begin(sk);
}

SEC("struct_ops") void BPF_PROG(veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	veno_hears(sk, sample->rtt_us);
}

SEC("struct_ops") void BPF_PROG(westwood_init, struct sock *sk)
{
	westwood_begin(sk);
	begin(sk);
}

SEC("struct_ops") void BPF_PROG(westwood_in_ack_event, struct sock *sk, __u32 flags)
{
	westwood_acknowledged(sk, flags, ratio_of(sk));
}

SEC("struct_ops") void BPF_PROG(westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	westwood_hears(sk, sample->rtt_us);
}

/* The path's window follows when losses are repaired, and the threshold when they could not be. */
SEC("struct_ops") void BPF_PROG(westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct boosted *it = boosted_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct windows segments;

	if (event == CA_EVENT_COMPLETE_CWR) {
		enter(sk, it);
		tp->snd_cwnd = tp->snd_ssthresh = westwood_path(sk);
		leave(sk, it, ratio_of(sk));
	} else if (event == CA_EVENT_LOSS) {
		segments = enter(sk, it);
		tp->snd_ssthresh = westwood_path(sk);
		leave_as_it_was(sk, it, segments);
		westwood_of(sk)->least_is_old = 1;
	}
}

/* The window of before, in the segments of before. */
SEC("struct_ops") __u32 BPF_PROG(either_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* The names are the loader's to give: they are the machine's, and each node has its own. */
SEC(".struct_ops.link")
struct tcp_congestion_ops cubic = {
	.init = (void *)cubic_init,
	.ssthresh = (void *)cubic_ssthresh,
	.cong_avoid = (void *)cubic_cong_avoid,
	.set_state = (void *)cubic_set_state,
	.cwnd_event = (void *)cubic_cwnd_event,
	.pkts_acked = (void *)cubic_pkts_acked,
	.undo_cwnd = (void *)either_undo_cwnd,
	.name = "overheard",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops reno = {
	.init = (void *)reno_init,
	.ssthresh = (void *)reno_ssthresh,
	.cong_avoid = (void *)reno_cong_avoid,
	.undo_cwnd = (void *)either_undo_cwnd,
	.name = "overheard",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops vegas = {
	.init = (void *)vegas_init,
	.ssthresh = (void *)vegas_ssthresh,
	.cong_avoid = (void *)vegas_cong_avoid,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.pkts_acked = (void *)vegas_pkts_acked,
	.undo_cwnd = (void *)either_undo_cwnd,
	.name = "overheard",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops veno = {
	.init = (void *)veno_init,
	.ssthresh = (void *)veno_ssthresh,
	.cong_avoid = (void *)veno_cong_avoid,
	.set_state = (void *)veno_set_state,
	.cwnd_event = (void *)veno_cwnd_event,
	.pkts_acked = (void *)veno_pkts_acked,
	.undo_cwnd = (void *)either_undo_cwnd,
	.name = "overheard",
};

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood = {
	.init = (void *)westwood_init,
	.ssthresh = (void *)westwood_ssthresh,
	.cong_avoid = (void *)westwood_cong_avoid,
	.in_ack_event = (void *)westwood_in_ack_event,
	.cwnd_event = (void *)westwood_cwnd_event,
	.pkts_acked = (void *)westwood_pkts_acked,
	.undo_cwnd = (void *)either_undo_cwnd,
	.name = "overheard",
};
