// Limits of the author's texts that are kept for a commit.

/** A commit's display title; longer ones are cut. */
export const MAX_SUBJECT = 120
export const MAX_AUTHOR = 100
