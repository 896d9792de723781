/* philox.h -- the definition of hop's random numbers: Philox4x32 with ten rounds (Salmon,
 * Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011). A number is
 * a pure function of a 64-bit key and a position; there is no state. Whatever computes
 * random_bits, uniform or fold_in must give these bits.
 *
 * All 64-bit quantities split into words low half first. */
#ifndef HOP_PHILOX_H
#define HOP_PHILOX_H

#include <stdint.h>

enum { HOP_PHILOX_ROUNDS = 10 };
#define HOP_PHILOX_M0 0xD2511F53u       /* multipliers of words 0 and 2 */
#define HOP_PHILOX_M1 0xCD9E8D57u
#define HOP_PHILOX_W0 0x9E3779B9u       /* added to the key after each round */
#define HOP_PHILOX_W1 0xBB67AE85u

/* Encrypt the counter c in place. */
static inline void hop_philox(uint64_t key, uint32_t c[4])
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	for (int i = 0; i < HOP_PHILOX_ROUNDS; i++) {
		uint64_t p = (uint64_t)HOP_PHILOX_M0 * c[0];
		uint64_t q = (uint64_t)HOP_PHILOX_M1 * c[2];
		c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
		c[1] = (uint32_t)q;
		c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
		c[3] = (uint32_t)p;
		k0 += HOP_PHILOX_W0;
		k1 += HOP_PHILOX_W1;
	}
}

/* Word i of a key's stream: four words a counter (i/4, 0, 0). */
static inline uint32_t hop_philox_word(uint64_t key, uint64_t i)
{
	uint64_t at = i / 4;
	uint32_t c[4] = { (uint32_t)at, (uint32_t)(at >> 32), 0, 0 };
	hop_philox(key, c);
	return c[i % 4];
}

/* fold_in: a key of its own for each i, from counters (i, 1, 0) that no stream uses. */
static inline uint64_t hop_philox_fold(uint64_t key, uint64_t i)
{
	uint32_t c[4] = { (uint32_t)i, (uint32_t)(i >> 32), 1, 0 };
	hop_philox(key, c);
	return (uint64_t)c[1] << 32 | c[0];
}

/* uniform in [0, 1): element i of a dtype with a mantissa of up to 23 bits is one bit more of word
 * i, its highest, so that it is exact; of f64, 53 bits of words 2i (the high half) and 2i+1. */
static inline double hop_philox_small(uint64_t key, uint64_t i, int man)
{
	return (double)(hop_philox_word(key, i) >> (31 - man)) / (double)((uint64_t)2 << man);
}

static inline double hop_philox_f64(uint64_t key, uint64_t i)
{
	uint64_t hi = hop_philox_word(key, 2 * i), lo = hop_philox_word(key, 2 * i + 1);
	return (double)((hi << 32 | lo) >> 11) * 0x1p-53;
}

#endif
