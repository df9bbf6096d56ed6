/* The parts of the kernel's types that the programs touch. Offsets and sizes are those of the kernel that loads them
 * (CO-RE): what stands here is names and kinds alone. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 bool;

enum { BPF_MAP_TYPE_LRU_HASH = 9 };
enum { AF_INET = 2, AF_INET6 = 10 };

#define TCP_INFINITE_SSTHRESH 0x7fffffffu
/* The state of a connection that repairs no loss (TCP_CA_Open). */
#define TCP_CA_OPEN 0
/* An acknowledgment that is not what was expected next (CA_ACK_SLOWPATH). */
#define CA_ACK_SLOWPATH 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 snd_cwnd_clamp;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
};

/* Cubic's own state; only its size is asked for. */
struct bictcp {
	__u32 cnt;
};

enum tcp_ca_event { CA_EVENT_TX_START, CA_EVENT_CWND_RESTART, CA_EVENT_COMPLETE_CWR, CA_EVENT_LOSS };

struct ack_sample {
	__u32 pkts_acked;
	__s32 rtt_us;
};

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop
