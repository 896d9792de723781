/* state.h -- what kernels and the host say to each other while a program runs on a device: the record
 * of a function, and the state of a run. The layout is that of abi.h's HOP_ABI for this target.
 *
 * RECORD: what a function is given, an array of words. Word 0 is the address of its frame; then its
 * nsym size symbols; then the addresses of its nin + nout parameters.
 *
 *	extern "C" __global__ void NAME_<f>(const hop_word *table, unsigned rec, unsigned at,
 *	                                    hop_state *state)          KERNEL f; its record: table + rec
 *	static __device__ int NAME_<f>(const hop_word *rec, hop_state *state)       TEAM or THREAD f
 *
 * `at` numbers the launches of a run from 0, in program order. A kernel that decides about a loop of the
 * host's list has one parameter more, `hop_word loop`: the handle of the graph's conditional node, which
 * one of its threads sets, even where the run has ended. It begins as 0 at every launch of the graph. No
 * handle is 0: then the host takes the trips, and `again` is set instead. A kernel that leaves says no
 * until it goes on; those of such a loop never leave. Every 256th decision of all runs asks whether to
 * cancel.
 *
 * STATE: one for each run that goes on, in device memory; the host sets it up. Only kernels that are
 * said to look (hop_cuda_kernel.looks) read `code` and may leave; others may still use scratch, tape,
 * ticket and arrived.
 *
 * Head of a kernel that looks: if (state->code) return.
 *
 * LEAVING, together, so only in teams of one block and resident ones. First a BARRIER_TEAM: else a
 * block that starts late finds the code at its head and goes before it has done its part. Then the
 * first thread of the team writes id, at, the request, and code; each function of the chain of calls,
 * the innermost first, pushes the registers that live, then the point to go on at (never 0), to save,
 * and returns the code.
 *	HOP_STATE_EFFECT  id of an effect; request: how many size symbols the function has (local ones too),
 *	                  these, then the addresses of operands and results. When it goes on, it is done
 *	HOP_STATE_GROW    id of a tape; request: bytes. When it goes on, tape[id] holds as many
 *	HOP_STATE_CHECK   id of a check, one that does not hold, or a wide one; request: number of size
 *	                  symbols, and these. When it goes on, it holds
 *	HOP_STATE_RING    the ring has no room: it goes on with the same statement, the ring being empty
 * ENDING: nothing is saved, and code stays.
 *	HOP_STATE_STOP    an assert did not hold; its record is the last in the ring
 *	HOP_STATE_CANCEL  *cancel was seen not to be 0
 *
 * GOING ON: the host has set code to 0 and launches from `at` on. Every function that can leave looks at
 * `saved` first: not 0, it goes on. All threads read the point and the registers from the top of save; a
 * BARRIER_TEAM; the first thread lowers `saved` by as many words; a BARRIER_TEAM; then goto. Where one
 * block was left (BARRIER_LAST), all have come again: the last to come goes on, when all have looked.
 *
 * RING: records one behind the other, each of a multiple of 8 bytes, written at ring + ring_head, which
 * the first thread then raises:
 *	unsigned bytes, id      of the record, these 8 included; of the effect
 *	long long nsym, sym[]   all size symbols of the function
 *	operands                as many bytes as each has, filled up to a multiple of 8
 * A record that would not fit an empty ring is an HOP_STATE_EFFECT. Only the host lowers ring_head.
 *
 * TEAM BARRIER of resident blocks: arrived. It works for any number of blocks without being reset, if
 * block 0 adds 0x80000000 - (blocks - 1) and the others 1, and all wait until its highest bit has
 * changed.
 * BARRIER_LAST: atomicInc(ticket, blocks - 1) gives blocks - 1 to the last, and is 0 again.
 * BARRIER_LAST_Y: the same with the ticket of the place along x, and the blocks along y. */
#ifndef HOP_CUDA_STATE_H
#define HOP_CUDA_STATE_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t hop_word;

enum hop_state_code { HOP_STATE_GO, HOP_STATE_STOP, HOP_STATE_EFFECT, HOP_STATE_GROW,
                      HOP_STATE_CHECK, HOP_STATE_RING, HOP_STATE_CANCEL };

/* As the host sees it. What kernels only read, what one thread of a run writes, and what all blocks
 * fight for have lines of their own. */
typedef struct hop_cuda_tape { hop_word ptr; int64_t bytes; } hop_cuda_tape;
typedef struct hop_state {
	int32_t  code;            /* enum hop_state_code */
	int32_t  id;
	uint32_t at;              /* of the launch that left */
	uint32_t saved;           /* words in save */
	int64_t  ring_head;       /* bytes in the ring */
	int64_t  skip;            /* as hop_rt.skip: progress effects to leave out */
	uint64_t turns;           /* trips of loops of the host's list, of all runs */
	hop_word again;           /* where no graph takes the trips: whether there is another */
	hop_word pad0[10];
	hop_word save;            /* hop_word *: hop_cuda_needs.save of them */
	hop_word request;         /* hop_word *: hop_cuda_needs.request of them */
	hop_word ring;            /* unsigned char * */
	int64_t  ring_bytes;
	hop_word scratch;         /* unsigned char *: HOP_SPACE_SCRATCH begins here */
	hop_word cancel;          /* const volatile int *; never 0 */
	hop_word pad1[10];
	uint32_t arrived;
	uint32_t pad2[31];
	uint32_t ticket[32];
	hop_cuda_tape tape[];     /* [ntape] by slot */
} hop_state;

/* The same as text, for the prelude. */
#define HOP_STATE_TEXT \
	"typedef unsigned long long hop_word;\n" \
	"struct hop_tape { unsigned char *ptr; long long bytes; };\n" \
	"struct hop_state {\n" \
	"\tint code, id;\n" \
	"\tunsigned at, saved;\n" \
	"\tlong long ring_head, skip;\n" \
	"\tunsigned long long turns;\n" \
	"\thop_word again, pad0[10];\n" \
	"\thop_word *save, *request;\n" \
	"\tunsigned char *ring;\n" \
	"\tlong long ring_bytes;\n" \
	"\tunsigned char *scratch;\n" \
	"\tconst volatile int *cancel;\n" \
	"\thop_word pad1[10];\n" \
	"\tunsigned arrived, pad2[31];\n" \
	"\tunsigned ticket[32];\n" \
	"\thop_tape tape[1];\n" \
	"};\n"

_Static_assert(offsetof(hop_state, saved) == 12 && offsetof(hop_state, ring_head) == 16 &&
               offsetof(hop_state, skip) == 24 && offsetof(hop_state, turns) == 32 &&
               offsetof(hop_state, again) == 40 &&
               offsetof(hop_state, save) == 128 &&
               offsetof(hop_state, request) == 136 && offsetof(hop_state, ring) == 144 &&
               offsetof(hop_state, ring_bytes) == 152 && offsetof(hop_state, scratch) == 160 &&
               offsetof(hop_state, cancel) == 168 && offsetof(hop_state, arrived) == 256 &&
               offsetof(hop_state, ticket) == 384 && offsetof(hop_state, tape) == 512,
               "HOP_STATE_TEXT says so");

#endif
