/* set.c -- what the environment asks of the emulator, its lock, and its random numbers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/inside.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static emu_set set;
static uint64_t state;

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);
	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}
static bool is(const char *name, const char *word)
{
	const char *s = getenv(name);
	return s && !strcmp(s, word);
}
static void read_settings(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t now = (uint64_t)t.tv_nsec ^ (uint64_t)t.tv_sec << 20 ^ (uint64_t)getpid();
	set.seed = number("HOP_EMU_SEED", now);
	set.sms = (int)number("HOP_EMU_SMS", 3);
	set.memory = number("HOP_EMU_MEMORY", (uint64_t)2 << 30);
	set.fault_stays = is("HOP_EMU_FAULT", "final");
	set.fault_is_code = set.fault_stays || is("HOP_EMU_FAULT", "code");
	set.check = !is("HOP_EMU_CHECK", "0");
	set.late = !is("HOP_EMU_LATE", "0");
	set.keep = getenv("HOP_EMU_KEEP");
	set.texts = getenv("HOP_EMU_TEXTS");
	set.cxx = getenv("HOP_EMU_CXX");
	set.cxx = set.cxx && *set.cxx ? set.cxx : "c++";
	state = set.seed;
}
const emu_set *emu_settings(void)
{
	pthread_once(&once, read_settings);
	return &set;
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators. */
uint64_t emu_random(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
uint64_t emu_below(uint64_t n)
{
	return (uint64_t)((unsigned __int128)emu_random() * n >> 64);
}

void emu_lock(void)
{
	emu_settings();
	pthread_rwlock_wrlock(&lock);
}
void emu_look(void)
{
	emu_settings();
	pthread_rwlock_rdlock(&lock);
}
void emu_unlock(void)
{
	pthread_rwlock_unlock(&lock);
}
