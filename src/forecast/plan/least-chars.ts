// In its own file, so that the command line reads it without loading the plan's code.

/** A shorter plan cannot contain the essentials. */
export const LEAST_CHARS = 2_000
