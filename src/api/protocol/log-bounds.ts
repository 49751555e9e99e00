// All limits of `kubenode logs`.

/** Concurrent requests per agent. */
export const LOG_REQUESTS_OF_MACHINE = 4
/** Concurrent requests per cluster, because all agents write to the same API server. */
export const LOG_REQUESTS_AT_ONCE = 50

/** Text bytes per page. Sealed and encoded it stays below the 64 KiB that a server accepts from an agent. */
export const LOG_PAGE_BYTES = 32 * 1_024
/** Interval between two pages of a request. */
export const LOG_PAGE_EVERY_MS = 500
/** Size of an answer without --follow: the newest lines. */
export const LOG_ANSWER_BYTES = 256 * 1_024
/** Length of a line after masking secrets. */
export const LOG_LINE_CHARS = 4_096
/** A following request ends after this time. */
export const LOG_FOLLOW_MS = 600_000
/** The controllers delete a request after this time, whatever its state. */
export const LOG_REQUEST_LIFE_MS = 900_000
