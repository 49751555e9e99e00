// How much of what its author wrote about a commit is kept.

/** What a commit is called beside its hash; longer ones are cut. */
export const MAX_SUBJECT = 120
export const MAX_AUTHOR = 100
