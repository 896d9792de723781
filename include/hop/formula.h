/** Formulas: an expression as text, recorded as the calls it stands for. The language is in
 * docs/capture.md. Statements, assignments and operators with bodies are not part of it. */
#ifndef HOP_FORMULA_H
#define HOP_FORMULA_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** names: what the values are called in the formula, separated by commas, as many as there are
 * values; blanks do not count. A formula is read once for a context. */
hop_value hop_at_formula(hop_trace *t, const char *file, int line, const char *formula,
                         const char *names, int n, const hop_value *v);
#define hop_formula(t, ...) hop_at_formula(t, __FILE__, __LINE__, __VA_ARGS__)

/** HOP_E(t, "tanh(W @ h + m->b)", W, h, m->b): values are called what they are written as. */
#ifdef __cplusplus
}
template <typename... V>
static inline hop_value hop_formula_all(hop_trace *t, const char *file, int line,
                                        const char *formula, const char *names, const V &... v)
{
	const hop_value all[] = { v... };
	return hop_at_formula(t, file, line, formula, names, (int)sizeof...(v), all);
}
extern "C" {
#define HOP_E(t, formula, ...) \
	hop_formula_all(t, __FILE__, __LINE__, formula, #__VA_ARGS__, __VA_ARGS__)
#else
#define HOP_E(t, formula, ...) \
	hop_at_formula(t, __FILE__, __LINE__, formula, #__VA_ARGS__, \
	               (int)(sizeof((hop_value[]){ __VA_ARGS__ }) / sizeof(hop_value)), \
	               (hop_value[]){ __VA_ARGS__ })
#endif
/** In the list of HOP_E: this value under that name. */
#define HOP_AS(name, value) (value)

#ifdef __cplusplus
}
#endif

#endif
