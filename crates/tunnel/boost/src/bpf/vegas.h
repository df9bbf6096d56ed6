/* TCP Vegas (L. Brakmo, S. O'Malley, L. Peterson: TCP Vegas, ACM SIGCOMM 1994; section 3.2 and 3.3), as Linux has it, on the
 * windows as they stand. The kernel lets no program call its own.
 *
 * Once a round trip the backlog that this connection keeps in the path is estimated: the window, less as much of it as
 * the path holds when its queues are empty. Below ALPHA packets the window grows by one, above BETA it shrinks by one, and above
 * GAMMA slow start ends. A round trip with fewer than three samples says nothing, and the window grows as Reno's. */
#pragma once

#define VEGAS_ALPHA 2
#define VEGAS_BETA 4
#define VEGAS_GAMMA 1
#define NO_ROUND_TRIP 0x7fffffffu

struct vegas {
	/* What was next to be sent when this round trip began. */
	__u32 round_ends;
	/* Samples in it, and the least of them; the least ever. In microseconds. */
	__u32 samples;
	__u32 least_us;
	__u32 base_us;
	/* Off while losses are repaired. */
	__u32 on;
};

static __always_inline struct vegas *vegas_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void vegas_enable(struct sock *sk, bool on)
{
	struct vegas *vegas = vegas_of(sk);

	vegas->on = on;
	if (!on)
		return;
	vegas->round_ends = tcp_sk(sk)->snd_nxt;
	vegas->samples = 0;
	vegas->least_us = NO_ROUND_TRIP;
}

static __always_inline void vegas_begin(struct sock *sk)
{
	vegas_of(sk)->base_us = NO_ROUND_TRIP;
	vegas_enable(sk, 1);
}

static __always_inline void vegas_hears(struct sock *sk, __s32 round_trip_us)
{
	struct vegas *vegas = vegas_of(sk);
	__u32 sample_us = round_trip_us + 1;

	if (round_trip_us < 0)
		return;
	if (sample_us < vegas->base_us)
		vegas->base_us = sample_us;
	if (sample_us < vegas->least_us)
		vegas->least_us = sample_us;
	vegas->samples++;
}

/* `acked` is 0 where the window is not what keeps the connection from sending. */
static __always_inline void vegas_grow(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *vegas = vegas_of(sk);
	__u32 window = tp->snd_cwnd, round_trip_us = at_least(vegas->least_us, 1), base_us = at_least(vegas->base_us, 1);
	bool starts_slowly = window < tp->snd_ssthresh;
	__u64 without_queues, backlog;

	if (!vegas->on || ((__s32)(ack - vegas->round_ends) > 0 && vegas->samples <= 2)) {
		if (vegas->on)
			vegas_enable(sk, 1);
		if (acked)
			tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if ((__s32)(ack - vegas->round_ends) <= 0) {
		if (starts_slowly)
			tcp_slow_start(tp, acked);
		return;
	}
	without_queues = (__u64)window * base_us / round_trip_us;
	backlog = (__u64)window * (round_trip_us - base_us) / base_us;
	if (starts_slowly && backlog > VEGAS_GAMMA) {
		if (without_queues + 1 < window)
			window = without_queues + 1;
		tp->snd_cwnd = window;
		if (window < tp->snd_ssthresh)
			tp->snd_ssthresh = window;
	} else if (starts_slowly) {
		tcp_slow_start(tp, acked);
	} else if (backlog > VEGAS_BETA) {
		tp->snd_cwnd = --window;
		if (window < tp->snd_ssthresh)
			tp->snd_ssthresh = window;
	} else if (backlog < VEGAS_ALPHA) {
		tp->snd_cwnd = window + 1;
	}
	window = at_least(tp->snd_cwnd, 2);
	if (window > tp->snd_cwnd_clamp)
		window = tp->snd_cwnd_clamp;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = at_least(tp->snd_ssthresh, window - window / 4);
	vegas_enable(sk, 1);
}
