// The bounds of the rule language. A rule comes from a file or an object that any user may write, and is evaluated for every node of a cluster.

/** What the API allows for one rule (an annotation-sized tree); larger ones are programs, not rules. */
export const MAX_RULE_BYTES = 16 * 1024

/** Levels of all/any/not; people stop following at five, generated rules at ten. */
export const MAX_RULE_DEPTH = 16

/** As written: a leaf with `for` is one. Asking costs about three microseconds a leaf, for every node again and again. */
export const MAX_RULE_LEAVES = 64

/** JSON levels under a rule: two for each level of groups, three for a leaf with a list inside. */
export const MAX_RULE_JSON_DEPTH = 2 * MAX_RULE_DEPTH + 4

/** A hundred rules a fleet is many; ten times that still indexes in a millisecond. */
export const MAX_RULES = 1_000

/** Longer patterns are word lists; `in`, `startsWith` and several leaves say the same and are read more easily. */
export const MAX_REGEX_CHARS = 512

/** Instructions of a compiled regex. Matching costs at most characters times instructions; with the bound on the text below some 50 ms at worst. */
export const MAX_REGEX_PROGRAM = 1_000

/** The same for all regexes of one rule. */
export const MAX_RULE_REGEX_PROGRAM = 2_000

/** Longest text that a regex is run on, four times the longest condition message; a longer one is unknown. */
export const MAX_REGEX_SEEN_CHARS = 4 * 1_024

/** Strings in a rule: the longest that a Kubernetes condition message may have. */
export const MAX_VALUE_CHARS = 1_024

/** Elements of a list in a rule (`in`, `containsAny`, `someValue:`). */
export const MAX_VALUE_ITEMS = 64

/** Segments of a path and decorators of an operator: more is a mistake. */
export const MAX_PATH_TOKENS = 8
export const MAX_DECORATORS = 3

/** Longest text in a fact that the other text operators read; a longer one is unknown, never half judged. */
export const MAX_SEEN_CHARS = 64 * 1024

/** Elements of a list in a fact that an operator still walks through; a longer one is unknown. */
export const MAX_SEEN_ITEMS = 10_000

/** Characters of all elements of a list that is walked with an operator for texts; more is unknown. */
export const MAX_SEEN_LIST_CHARS = 16 * 1024

/** Problems listed for one rule; twenty are enough to start fixing it. */
export const MAX_PROBLEMS = 20

/** What an explanation shows of a seen value. */
export const MAX_SHOWN_CHARS = 200
export const MAX_SHOWN_ITEMS = 10
