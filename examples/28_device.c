/* A loop on a GPU: arrays there, calls that nobody waits for, and a tensor that goes to another library
 * and comes back by DLPack. Where there is no device, it says so. The same function runs here too, and
 * both agree. */
#include "example.h"

enum { N = 4096, CALLS = 20 };

/* Heat along a rod that is held at zero at both ends: some steps of it, and what is left. */
static void heat(hop_trace *t, const hop_value *in, void *user)
{
	hop_value u = in[0];
	const hop_dim one[] = { hop_n(1) };
	(void)user;
	HOP_FOR(t, i, 50, u) {
		hop_value w = hop_pad(t, u, one, one);
		hop_value left = hop_narrow(t, w, 0, 0, N), right = hop_narrow(t, w, 0, 2, N);
		u = HOP_E(t, "u + 0.25 * (left - 2 * u + right)", u, left, right);
	}
	hop_return(t, u, hop_sum_all(t, u));
}

/* Each call gets what the one before it gave; all are on their way before the first has ended. */
static void march(hop_ctx *c, hop_fn *f, hop_array *u, hop_stream *s, hop_array *out[2])
{
	out[0] = hop_array_retain(u);
	out[1] = NULL;
	for (int i = 0; i < CALLS; i++) {
		hop_array *in = out[0];
		hop_array_release(out[1]);
		must(c, hop_call_with(f, 1, &in, 2, out, HOP_RUN_OPTS(.stream = s)));
		hop_array_release(in);
	}
	must(c, hop_stream_wait(s));
}

/* What another library would do: the tensor is its own from here on. */
static hop_array *there_and_back(hop_ctx *c, hop_array *u, hop_stream *s)
{
	struct DLManagedTensorVersioned *m;
	hop_array *again;
	must(c, hop_array_to_dlpack_on(u, s, &m));
	must(c, hop_array_from_dlpack_on(c, m, s, &again));
	return again;
}

static void on_device(hop_ctx *c, hop_device d, hop_fn *f, hop_array *u, double want)
{
	hop_array *du, *y[2], *same, *here;
	hop_stream *s;
	must(c, hop_array_to(u, d, &du));
	must(c, hop_stream_new(c, d, &s));
	march(c, f, du, s, y);
	same = there_and_back(c, y[0], s);
	must(c, hop_array_to(same, (hop_device){ 0, 0 }, &here));
	printf("%s\n", hop_device_about(c, d));
	printf("the sum there and here: %.9f %.9f; at one place %.9f\n", hop_array_at(y[1], 0), want,
	       numbers(here)[N / 2]);
	release(5, (hop_array *[]){ here, same, y[0], y[1], du });
	hop_stream_free(s);
}

int main(void)
{
	hop_ctx *c = context();
	hop_device d;
	hop_fn *f;
	hop_array *y[2], *u;
	hop_stream *here;
	static double start[N];
	for (int i = 0; i < N; i++)
		start[i] = sin(M_PI * (i + 1) / (N + 1)) + (i == N / 2);
	u = vector(c, N, start);
	must(c, hop_capture(c, heat, NULL, 1, (hop_spec[]){ hop_spec1(HOP_f64, N) }, &f));
	must(c, hop_stream_new(c, (hop_device){ 0, 0 }, &here));
	march(c, f, u, here, y);
	if (hop_device_find(c, "cuda", &d))
		printf("no device: %s\n", hop_message(c));
	else
		on_device(c, d, f, u, hop_array_at(y[1], 0));
	release(3, (hop_array *[]){ y[0], y[1], u });
	hop_stream_free(here);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
