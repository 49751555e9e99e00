// Every bound of what `kubenode logs` asks for and gets.

/** Requests that one agent answers at the same time. */
export const LOG_REQUESTS_OF_MACHINE = 4
/** Requests that all agents of a cluster answer at the same time: each writes to the same API server. */
export const LOG_REQUESTS_AT_ONCE = 50

/** Of text in one page. Sealed and encoded it stays below the 64 KiB that a server reads of an agent. */
export const LOG_PAGE_BYTES = 32 * 1_024
/** Between two pages of one request. */
export const LOG_PAGE_EVERY_MS = 500
/** Of one answer that does not follow: the newest lines. */
export const LOG_ANSWER_BYTES = 256 * 1_024
/** Of one line, after secrets were masked. */
export const LOG_LINE_CHARS = 4_096
/** A request that follows ends by itself. */
export const LOG_FOLLOW_MS = 600_000
/** The controllers delete a request after this time, whatever became of it. */
export const LOG_REQUEST_LIFE_MS = 900_000
