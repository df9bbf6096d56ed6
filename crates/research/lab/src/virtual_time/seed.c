/*
 * Preloaded into the virtual-time kernel, so that one seed gives one run.
 *
 * A User-Mode Linux kernel is a program, and asks the machine under it for randomness in two ways: the library's
 * getrandom(), and the device /dev/random, which feeds its hardware generator. Both are answered from a
 * SplitMix64 sequence (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014, figure 17) that
 * starts at OVERHEARD_LAB_SEED; the device is replaced by /dev/zero, which adds nothing that changes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static uint64_t sequence;

__attribute__((constructor)) static void start_sequence(void)
{
	const char *seed = getenv("OVERHEARD_LAB_SEED");

	sequence = seed ? strtoull(seed, NULL, 10) : 0;
}

static uint64_t next_word(void)
{
	uint64_t word = sequence += 0x9e3779b97f4a7c15u;

	word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
	word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
	return word ^ (word >> 31);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	size_t filled = 0;

	(void)flags;
	while (filled < length) {
		uint64_t word = next_word();
		size_t part = length - filled < sizeof word ? length - filled : sizeof word;

		memcpy((char *)buffer + filled, &word, part);
		filled += part;
	}
	return (ssize_t)length;
}

static int is_random_device(const char *path)
{
	return !strcmp(path, "/dev/random") || !strcmp(path, "/dev/urandom") || !strcmp(path, "/dev/hwrng");
}

/* The mode is read only when the flags say that the caller passed one (open(2)). */
#define SEEDED(function)                                                                   \
	int function(const char *path, int flags, ...)                                     \
	{                                                                                  \
		int (*next)(const char *, int, ...) =                                      \
			(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #function);      \
		unsigned int mode = 0;                                                     \
                                                                                           \
		if (flags & (O_CREAT | O_TMPFILE)) {                                       \
			va_list rest;                                                      \
                                                                                           \
			va_start(rest, flags);                                             \
			mode = va_arg(rest, unsigned int);                                 \
			va_end(rest);                                                      \
		}                                                                          \
		return next(is_random_device(path) ? "/dev/zero" : path, flags, mode);     \
	}

SEEDED(open)
SEEDED(open64)
