/* cpus.c -- how many processors this process may keep busy. */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"

/* Those that a limit of the control group pays for; 0 = no limit is known. */
static int paid(void)
{
	FILE *f = fopen("/sys/fs/cgroup/cpu.max", "re");
	long long quota = 0, period = 0;
	int n = f ? fscanf(f, "%lld %lld", &quota, &period) : 0;
	if (f)
		fclose(f);
	return n == 2 && quota > 0 && period > 0 ? (int)((quota + period - 1) / period) : 0;
}

int hop_cpus(void)
{
	cpu_set_t set;
	int n = 0, limit = paid();
	if (!sched_getaffinity(0, sizeof set, &set))
		n = CPU_COUNT(&set);
	if (n <= 0)
		n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (limit > 0 && limit < n)
		n = limit;
	return n < 1 ? 1 : n;
}
