/* cu.h -- numbers and layouts of the CUDA driver's interface that the emulator answers to. Written
 * apart from the CUDA target's own, so that a mistake in one of them is seen. */
#ifndef HOP_EMU_CU_H
#define HOP_EMU_CU_H

#include <stddef.h>

enum {
	CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200, CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
};
typedef int CUresult;
typedef unsigned long long CUdeviceptr;

typedef struct CUDA_MEMCPY2D {
	size_t srcXInBytes, srcY;
	int srcMemoryType;
	const void *srcHost;
	CUdeviceptr srcDevice;
	void *srcArray;
	size_t srcPitch, dstXInBytes, dstY;
	int dstMemoryType;
	void *dstHost;
	CUdeviceptr dstDevice;
	void *dstArray;
	size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUmemAllocationProp {
	int type, requestedHandleTypes;
	struct { int type, id; } location;
	void *win32HandleMetaData;
	unsigned char allocFlags[8];
} CUmemAllocationProp;

typedef struct CUmemAccessDesc { struct { int type, id; } location; int flags; } CUmemAccessDesc;

typedef struct CUDA_KERNEL_NODE_PARAMS {
	void *func;
	unsigned gridDim[3], blockDim[3], sharedMemBytes;
	void **kernelParams, **extra;
	void *kern, *ctx;
} CUDA_KERNEL_NODE_PARAMS;

typedef union CUlaunchAttributeValue { char pad[64]; int cooperative; } CUlaunchAttributeValue;

enum { CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2 };
enum { CU_GRAPH_NODE_TYPE_CONDITIONAL = 13, CU_GRAPH_COND_TYPE_IF = 0, CU_GRAPH_COND_TYPE_WHILE = 1,
       CU_GRAPH_COND_ASSIGN_DEFAULT = 1 };

enum { CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC = 1, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC = 1 };
typedef struct CUgraphEdgeData { unsigned char from_port, to_port, type, reserved[5]; } CUgraphEdgeData;

typedef struct CUDA_CONDITIONAL_NODE_PARAMS {
	unsigned long long handle;
	int type;
	unsigned size;
	void **phGraph_out;
	void *ctx;
} CUDA_CONDITIONAL_NODE_PARAMS;

typedef struct CUgraphNodeParams {
	int type, reserved0[3];
	union { long long reserved1[29]; CUDA_CONDITIONAL_NODE_PARAMS conditional; };
	long long reserved2;
} CUgraphNodeParams;

#endif
