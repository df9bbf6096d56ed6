/* TCP Veno (C. P. Fu, S. C. Liew: TCP Veno, IEEE Journal on Selected Areas in Communications 21(2), 2003; section III), as
 * Linux has it, on the windows as they stand. The kernel lets no program call its own.
 *
 * Vegas' estimate of what this connection keeps in the path's queues tells why a packet was lost: with fewer than BETA
 * packets there it was the air, and a fifth of the window is given up and not half. With more, the window grows half as fast. */
#pragma once

/* In half packets. */
#define VENO_BETA (3 * 2)

struct veno {
	/* Samples since losses were last repaired, the least since the window last grew, the least ever; in microseconds. */
	__u32 samples;
	__u32 least_us;
	__u32 base_us;
	/* What waits in the path, in half packets. */
	__u32 backlog;
	/* Whether the next window's worth of acknowledgments makes the window larger, where that is every other one's. */
	__u32 grows_next;
	/* Off while losses are repaired. */
	__u32 on;
};

static __always_inline struct veno *veno_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void veno_enable(struct sock *sk, bool on)
{
	struct veno *veno = veno_of(sk);

	veno->on = on;
	if (on)
		veno->least_us = NO_ROUND_TRIP;
}

static __always_inline void veno_begin(struct sock *sk)
{
	struct veno *veno = veno_of(sk);

	veno->base_us = NO_ROUND_TRIP;
	veno->grows_next = 1;
	veno_enable(sk, 1);
}

static __always_inline void veno_hears(struct sock *sk, __s32 round_trip_us)
{
	struct veno *veno = veno_of(sk);
	__u32 sample_us = round_trip_us + 1;

	if (round_trip_us < 0)
		return;
	if (sample_us < veno->base_us)
		veno->base_us = sample_us;
	if (sample_us < veno->least_us)
		veno->least_us = sample_us;
	veno->samples++;
}

static __always_inline void veno_grow(struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *veno = veno_of(sk);
	__u32 window = tp->snd_cwnd;

	if (!veno->on || veno->samples <= 2 || veno->least_us == NO_ROUND_TRIP) {
		tcp_reno_cong_avoid(sk, ack, acked);
		veno->least_us = NO_ROUND_TRIP;
		return;
	}
	veno->backlog = 2 * window - (__u64)window * veno->base_us * 2 / at_least(veno->least_us, 1);
	if (window < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	window = tp->snd_cwnd;
	if (!acked) {
		/* all of it went into slow start */
	} else if (veno->backlog < VENO_BETA) {
		tcp_cong_avoid_ai(tp, window, acked);
	} else if (tp->snd_cwnd_cnt >= window) {
		if (veno->grows_next && window < tp->snd_cwnd_clamp)
			tp->snd_cwnd = window + 1;
		veno->grows_next = !veno->grows_next;
		tp->snd_cwnd_cnt = 0;
	} else {
		tp->snd_cwnd_cnt += acked;
	}
	tp->snd_cwnd = at_least(tp->snd_cwnd, 2);
	if (tp->snd_cwnd > tp->snd_cwnd_clamp)
		tp->snd_cwnd = tp->snd_cwnd_clamp;
	veno->least_us = NO_ROUND_TRIP;
}

static __always_inline __u32 veno_threshold(struct sock *sk)
{
	__u32 window = tcp_sk(sk)->snd_cwnd;

	return at_least(veno_of(sk)->backlog < VENO_BETA ? window / 5 * 4 + window % 5 * 4 / 5 : window / 2, 2);
}
