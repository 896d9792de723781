/* files.h -- what both fuzzers of files do with bytes: open them, read every element of every array,
 * and load them into a struct. Nothing may crash, leak or be read out of bounds. */
#ifndef FUZZ_FILES_H
#define FUZZ_FILES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctx/ctx.h"
#include "io/store.h"

static volatile double fuzz_sum;

static inline void fuzz_must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "file fuzzer: %s\n", what);
	abort();
}

static inline void fuzz_arrays(hop_ctx *c, hop_file *f)
{
	for (int i = 0; i < hop_file_count(f); i++) {
		hop_array *a, *again;
		const char *name = hop_file_name(f, i);
		fuzz_must(hop_file_find(f, name) == i, "a name is not found");
		hop_status st = hop_file_array(f, i, &a);
		fuzz_must(!st == !!a, "a status and no array, or both");
		fuzz_must(!st || *hop_message(c), "a failure without a message");
		if (st)
			continue;
		fuzz_must(!hop_file_get(f, name, &again) && again == a, "another array the second time");
		for (int64_t k = 0; k < hop_array_count(a); k++)
			fuzz_sum += hop_array_at(a, k);
		if (hop_array_count(a) && hop_array_dtype(a) == HOP_f32)
			*(float *)hop_array_data(a) = 1;           /* they are ours to write */
		hop_array_release(again);
		hop_array_release(a);
	}
}

#define FUZZ_LAYER(has) has(LEAF, w, "f32[d#, d#+1]") has(LEAF, b, "f32[d#+1]")
HOP_STRUCT(fuzz_layer, FUZZ_LAYER);
#define FUZZ_NET(has) has(NODES, layer, 2, fuzz_layer)
HOP_STRUCT(fuzz_net, FUZZ_NET);

static inline void fuzz_struct(hop_ctx *c, hop_file *f)
{
	struct fuzz_net_arrays net;
	hop_status st = hop_tree_from(c, &fuzz_net_tree, NULL, f, &net);
	fuzz_must(!st || *hop_message(c), "a failure without a message");
	fuzz_must(!st == !!net.layer[1].b, "a status and no struct, or both");
	if (!st)
		fuzz_must(hop_array_dims(net.layer[0].w)[1] == hop_array_dims(net.layer[1].w)[0],
		          "sizes of one name differ");
	hop_tree_release(&fuzz_net_tree, &net);
}

static inline int fuzz_file(const uint8_t *p, size_t n)
{
	hop_ctx *c;
	fuzz_must(!hop_ctx_new(NULL, &c), "no context");
	for (int way = 0; way < 2; way++) {
		hop_mem m = hop_ctx_mem(c);
		hop_bytes *b = hop_raw_try(&m, sizeof *b);
		char *block = malloc(n + !n);                  /* exactly: sanitizers watch its end */
		hop_file *f;
		fuzz_must(b && block, "no memory");
		memcpy(block, p, n);
		*b = (hop_bytes){ .refs = 1, .mem = m, .p = block, .n = n, .room = sizeof *b };
		hop_status st = hop_store_open(c, "x", b, way, &f);
		hop_bytes_release(b);
		fuzz_must(!st == !!f, "a status and no file, or both");
		fuzz_must(!st || *hop_message(c), "a failure without a message");
		if (!st) {
			fuzz_arrays(c, f);
			fuzz_struct(c, f);
		}
		hop_file_close(f);
		free(block);
	}
	hop_ctx_free(c);
	return 0;
}

#endif
