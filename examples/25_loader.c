/* A training loop whose batches come from C code of ours: a data set is an object, `next` of it an
 * effect that fills memory of the program, `place` says where it is, and losses go into a log. All of
 * it runs inside one compiled loop; the same seed gives the same batches again. */
#include "example.h"

enum { ROWS = 64, BATCH = 8, DIM = 3, STEPS = 200 };

/* ---- the data set: y = 1 x0 - 2 x1 + 3 x2, rows in an order that the seed makes ---- */

struct data {
	double   x[ROWS][DIM], y[ROWS];
	uint64_t state;
	int64_t  given;
};

static uint64_t pick(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

static void fill(struct data *d, uint64_t seed)
{
	uint64_t s = 1;
	for (int i = 0; i < ROWS; i++) {
		for (int k = 0; k < DIM; k++)
			d->x[i][k] = (double)(pick(&s) % 2001) / 1000 - 1;
		d->y[i] = d->x[i][0] - 2 * d->x[i][1] + 3 * d->x[i][2];
	}
	d->state = seed;
	d->given = 0;
}

/* Results are the program's own memory: nothing is copied. */
static hop_status next(void *self, const hop_host_call *c)
{
	struct data *d = self;
	for (int i = 0; i < BATCH; i++) {
		int row = (int)(pick(&d->state) % ROWS);
		memcpy((double *)c->out[0].data + (size_t)i * DIM, d->x[row], sizeof d->x[row]);
		((double *)c->out[1].data)[i] = d->y[row];
	}
	d->given++;
	return HOP_OK;
}

static hop_status place(void *self, const hop_host_call *c)
{
	*(int64_t *)c->out[0].data = ((const struct data *)self)->given;
	return HOP_OK;
}

static const hop_method_def methods[] = { { .name = "next", .run = next },
	                                      { .name = "place", .run = place } };

/* ---- a log: an effect without results ---- */

static hop_status keep(const hop_host_call *c)
{
	double *log = c->user;
	int64_t step = *(const int64_t *)c->in[0].data;
	if (step < 0 || step >= STEPS)
		return hop_host_fail(c, HOP_EVALUE, "step %lld is not one of %d", (long long)step, STEPS);
	log[step] = *(const double *)c->in[1].data;
	return HOP_OK;
}

/* ---- the program ---- */

/* x, y, w -> mean (x w - y)^2 */
static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value r = hop_sub(t, hop_matmul(t, in[0], in[2]), in[1]);
	(void)user;
	hop_return(t, hop_mulf(t, hop_sum_all(t, hop_mul(t, r, r)), 1.0 / BATCH));
}

/* in: the data set's handle, w. Gives w, and how many batches were read. */
static void train(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim size[2] = { hop_n(BATCH), hop_n(DIM) };
	hop_result type[2] = { hop_result_of(HOP_f64, 2, size), hop_result_of(HOP_f64, 1, size) };
	hop_result number = hop_result_of(HOP_i64, 0, NULL);
	hop_value w = in[1], n;
	(void)user;

	HOP_FOR(t, i, STEPS, w) {
		hop_value b[3], out[2], said[2];
		hop_method(t, "data.next", in[0], 0, NULL, 2, type, b);
		b[2] = w;
		hop_grad_at(t, loss, NULL, 3, b, 1, (int[]){ 2 }, 2, out);
		said[0] = i;
		said[1] = out[0];
		hop_host(t, "log", 2, said, 0, NULL, NULL);
		w = hop_sub(t, w, hop_mulf(t, out[1], 0.2));
	}
	hop_method(t, "data.place", in[0], 0, NULL, 1, &number, &n);
	hop_return(t, w, n);
}

int main(void)
{
	hop_ctx *c = context();
	static struct data d;
	static double log[STEPS], again[STEPS];
	hop_spec spec[2] = { hop_spec0(HOP_i64), hop_spec1(HOP_f64, DIM) };
	int64_t handle;
	hop_fn *f;

	must(c, hop_class_add(c, HOP_CLASS_DEF(.name = "data", .nmethod = 2, .method = methods)));
	must(c, hop_host_add(c, HOP_HOST_DEF(.name = "log", .run = keep, .user = log)));
	must(c, hop_object_new(c, "data", &d, &handle));
	must(c, hop_capture(c, train, NULL, 2, spec, &f));
	for (int run = 0; run < 2; run++) {
		hop_array *in[2], *out[2];
		fill(&d, 7);
		must(c, hop_array_new(c, HOP_i64, 0, NULL, &handle, &in[0]));
		in[1] = vector(c, DIM, (double[]){ 0, 0, 0 });
		must(c, hop_call(f, 2, in, 2, out));
		const double *w = numbers(out[0]);
		if (!run) {
			printf("loss %.4f at first, %.1e after %lld batches\n", log[0], log[STEPS - 1],
			       (long long)*(const int64_t *)hop_array_data(out[1]));
			printf("w = %.4f %.4f %.4f\n", w[0], w[1], w[2]);
			memcpy(again, log, sizeof log);
		}
		release(2, in);
		release(2, out);
	}
	printf("the same losses from the same seed: %s\n", memcmp(log, again, sizeof log) ? "no" : "yes");
	hop_object_release(c, handle);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
