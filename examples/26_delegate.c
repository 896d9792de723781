/* A region that another engine runs. This engine knows nothing of hop's run time: it builds a region
 * ahead of time, as `hop build` does, links a shared object with the compiler of the system, and loads
 * that. The gradient of the region is made of two regions, which go the same way. */
#include <dlfcn.h>
#include <unistd.h>

#include "example.h"

/* What the engine keeps of a region: code, and where each size is found among the inputs. */
struct loaded {
	void *object;
	int (*call)(void *const *in, void *const *out, const int64_t *size);
	int   nsize, input[8], axis[8];
};

/* C that calls the object: a list of in[i], out[i] and size[i], and memory to work in. */
static void write_shim(FILE *f, const hop_engine_region *r)
{
	fprintf(f, "#include <stdlib.h>\n#include \"part.h\"\n"
	        "int call(void *const *in, void *const *out, const int64_t *size)\n{\n"
	        "\tint64_t n = part_region_workspace(");
	for (int i = 0; i < r->nsym; i++)
		fprintf(f, "%ssize[%d]", i ? ", " : "", i);
	fprintf(f, ");\n\tvoid *room = n > 0 ? aligned_alloc(64, (n + 63) / 64 * 64) : NULL;\n"
	        "\tint rc = part_region(");
	for (int i = 0; i < hop_fn_nin(r->fn); i++)
		fprintf(f, "in[%d], ", i);
	for (int i = 0; i < hop_fn_nout(r->fn); i++)
		fprintf(f, "out[%d], ", i);
	for (int i = 0; i < r->nsym; i++)
		fprintf(f, "size[%d], ", i);
	fprintf(f, "room, NULL);\n\tfree(room);\n\treturn rc;\n}\n");
}

/* A size of the region is an axis of one of its inputs. */
static bool find_sizes(const hop_engine_region *r, struct loaded *l)
{
	for (l->nsize = 0; l->nsize < r->nsym && l->nsize < 8; l->nsize++) {
		bool found = false;
		for (int i = 0; i < hop_fn_nin(r->fn); i++) {
			hop_spec s;
			if (!hop_fn_in_type(r->fn, i, &s) || !r->sym[l->nsize].name)
				continue;
			for (int k = 0; k < s.rank; k++)
				if (s.sym[k] && !strcmp(s.sym[k], r->sym[l->nsize].name)) {
					l->input[l->nsize] = i;
					l->axis[l->nsize] = k;
					found = true;
				}
		}
		if (!found)
			return false;
	}
	return l->nsize == r->nsym;
}

/* part.h and part.o from the region, the shim, and a shared object from all of them. */
static hop_status build(const hop_engine_region *r, const char *dir)
{
	char path[64], command[256];
	const char *name = "region";
	snprintf(path, sizeof path, "%s/part", dir);
	if (hop_aot_write(r->user, 1, &r->fn, &name, path, NULL))
		return hop_engine_refuse(r, "%s", hop_message(r->user));
	snprintf(path, sizeof path, "%s/shim.c", dir);
	FILE *f = fopen(path, "w");
	if (!f)
		return hop_engine_refuse(r, "%s cannot be written", path);
	write_shim(f, r);
	fclose(f);
	snprintf(command, sizeof command, "cd %s && cc -shared -fPIC -o part.so shim.c part.o -lm", dir);
	return system(command) ? hop_engine_refuse(r, "it does not link") : HOP_OK;
}

static hop_status prepare(const hop_engine_region *r, void **out_handle)
{
	struct loaded l = { 0 };
	char dir[] = "/tmp/hop-engine-XXXXXX", path[64], command[64];
	if (!find_sizes(r, &l))
		return hop_engine_refuse(r, "a size is no axis of an input");
	if (!mkdtemp(dir))
		return hop_engine_refuse(r, "there is no folder for it");
	hop_status st = build(r, dir);
	if (!st) {
		snprintf(path, sizeof path, "%s/part.so", dir);
		l.object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		*(void **)&l.call = l.object ? dlsym(l.object, "call") : NULL;
		if (!l.call)
			st = hop_engine_refuse(r, "%s", dlerror());
	}
	snprintf(command, sizeof command, "rm -r %s", dir);
	if (system(command))
		fprintf(stderr, "%s is left behind\n", dir);
	if (st)
		return st;
	printf("prepared a region of %d inputs and %d results", hop_fn_nin(r->fn), hop_fn_nout(r->fn));
	for (int i = 0; i < r->nsym; i++)
		printf(", %s from %d to %d", r->sym[i].name, (int)r->sym[i].min, (int)r->sym[i].max);
	printf("\n");
	*out_handle = malloc(sizeof l);
	memcpy(*out_handle, &l, sizeof l);
	return HOP_OK;
}

static hop_status run_it(void *handle, const hop_host_call *c)
{
	const struct loaded *l = handle;
	void *in[16], *out[16];
	int64_t size[8];
	for (int i = 0; i < c->nin; i++)
		in[i] = c->in[i].data;
	for (int i = 0; i < c->nout; i++)
		out[i] = c->out[i].data;
	for (int i = 0; i < l->nsize; i++)
		size[i] = c->in[l->input[i]].dim[l->axis[i]];
	int rc = l->call(in, out, size);
	return rc ? hop_host_fail(c, HOP_EVALUE, "it gave %d", rc) : HOP_OK;
}

static void let_go(void *handle)
{
	dlclose(((struct loaded *)handle)->object);
	free(handle);
}

/* The sum of (tanh(x) w - 1)^2, the inner part by the engine. */
static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = in[0], w = in[1];
	HOP_REGION_WITH(t, "layer", HOP_REGION_OPTS(.to = user), y)
		y = hop_mul(t, hop_tanh(t, y), w);
	y = hop_subf(t, y, 1);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

static hop_array *gradient(hop_ctx *c, const char *to, hop_array **in)
{
	hop_spec v = hop_spec_sym(hop_spec1(HOP_f64, 4), 0, "n", 1, 1000);
	hop_array *out[2];
	hop_fn *f, *g;
	must(c, hop_capture(c, loss, (void *)(uintptr_t)to, 2, (hop_spec[]){ v, v }, &f));
	must(c, hop_grad(f, 1, (int[]){ 1 }, &g));
	must(c, hop_call(g, 2, in, 2, out));
	hop_array_release(out[0]);
	hop_fn_release(f);
	hop_fn_release(g);
	return out[1];
}

int main(void)
{
	hop_ctx *c = context();
	hop_array *in[2] = { vector(c, 4, (double[]){ 0.5, 1, -1, 2 }),
	                     vector(c, 4, (double[]){ 1, 2, 3, 4 }) };
	must(c, hop_engine_add(c, HOP_ENGINE(.name = "object", .user = c, .prepare = prepare,
	                                     .run = run_it, .free = let_go)));
	show("by the engine:", gradient(c, "object", in));
	show("by hop:       ", gradient(c, "hop", in));
	release(2, in);
	hop_ctx_free(c);
	return 0;
}

/* prints
prepared a region of 2 inputs and 1 results, n from 1 to 1000
prepared a region of 2 inputs and 1 results, n from 1 to 1000
by the engine: -0.49713 0.796914 5.00334 5.50674
by hop:        -0.49713 0.796914 5.00334 5.50674
*/
