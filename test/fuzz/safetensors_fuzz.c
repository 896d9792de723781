/* safetensors_fuzz.c -- any bytes as a file of arrays, from seeds that are .safetensors files
 * (the folder of its name): see files.h. A libFuzzer target. */
#include "fuzz/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	return fuzz_file(p, n);
}
