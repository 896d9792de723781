/** What every fallible public function returns. 0 is success; the text of the last
 * failure on this thread is hop_message(ctx). */
#ifndef HOP_STATUS_H
#define HOP_STATUS_H

#if defined(__GNUC__)
#define HOP_MUST_USE __attribute__((warn_unused_result))
#else
#define HOP_MUST_USE
#endif

typedef enum hop_status {
	HOP_OK,
	HOP_ENOMEM,       /**< no memory; nothing leaked, the process lives */
	HOP_ETYPE,        /**< dtypes, counts or structures do not fit */
	HOP_ESHAPE,       /**< sizes do not fit */
	HOP_EVALUE,       /**< an argument is out of its range */
	HOP_EPARSE,       /**< malformed text or file */
	HOP_EUSE,         /**< the call is wrong here: a value after its trace, a second return */
	HOP_ENODIFF,      /**< no derivative exists, with the reason */
	HOP_EREFUSED,     /**< a defined refusal, listed in docs/ */
	HOP_EASSERT,      /**< an assert effect of the program did not hold */
	HOP_EIO,          /**< a file could not be read or written */
	HOP_ETARGET,      /**< the code generator or the device refused */
	HOP_ECANCELED,    /**< the run was stopped from outside */
	HOP_ENAN          /**< a NaN or an infinity was made, and the run was to find it */
} hop_status;

#endif
