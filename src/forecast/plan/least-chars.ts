// Apart from the plan itself: the command line reads it before anything of a plan is loaded.

/** Below this no plan says what must be said. */
export const LEAST_CHARS = 2_000
