/* emu.h -- what a text that was compiled for the emulated device and the emulator say to each other. */
#ifndef HOP_EMU_H
#define HOP_EMU_H

typedef struct hop_emu_dim { unsigned x, y, z; } hop_emu_dim;

/* The thread that runs, and whom it asks. site: where it was asked, for messages. */
typedef struct hop_emu {
	hop_emu_dim thread, block, block_dim, grid_dim;
	char       *shared;
	void      (*barrier)(const void *site);
	/* All lanes of the mask meet; gives what each of the 32 brought. */
	const unsigned long long *(*meet)(unsigned mask, unsigned long long value, const void *site);
	void      (*touch)(const void *p, unsigned long n, int writes, const void *site);
	void      (*atomic)(const void *p);    /* before: others may run */
	void      (*trap)(const char *why);
	void      (*set)(unsigned long long handle, unsigned value);   /* of a loop in a graph */
	void      (*early)(void);              /* what ran before has ended, and may be touched */
} hop_emu;

#endif
