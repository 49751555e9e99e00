// The limits of the rule language. Rules come from files or objects that any user may write, and run for every node of a cluster.

/** The API's limit for one rule (an annotation-sized tree); anything larger is a program, not a rule. */
export const MAX_RULE_BYTES = 16 * 1024

/** Levels of all/any/not; people lose track at five, generated rules reach ten. */
export const MAX_RULE_DEPTH = 16

/** Leaves as written; one with `for` counts once. Evaluating costs about three microseconds per leaf, for every node again and again. */
export const MAX_RULE_LEAVES = 64

/** JSON levels of a rule: two for each level of groups, three for a leaf with a list inside. */
export const MAX_RULE_JSON_DEPTH = 2 * MAX_RULE_DEPTH + 4

/** A hundred rules are a lot for a fleet; ten times that still indexes in a millisecond. */
export const MAX_RULES = 1_000

/** Longer patterns are word lists; `in`, `startsWith` and several leaves express the same and are easier to read. */
export const MAX_REGEX_CHARS = 512

/** Instructions of a compiled regex. Matching costs at most characters times instructions; with the text limit below, about 50 ms at worst. */
export const MAX_REGEX_PROGRAM = 1_000

/** The same limit for all regexes of one rule together. */
export const MAX_RULE_REGEX_PROGRAM = 2_000

/** Longest text that a regex runs on: four times the longest condition message. A longer text is unknown. */
export const MAX_REGEX_SEEN_CHARS = 4 * 1_024

/** Strings in a rule: the longest message that a Kubernetes condition may have. */
export const MAX_VALUE_CHARS = 1_024

/** Elements of a list in a rule (`in`, `containsAny`, `someValue:`). */
export const MAX_VALUE_ITEMS = 64

/** Segments of a path and decorators of an operator: more is a mistake. */
export const MAX_PATH_TOKENS = 8
export const MAX_DECORATORS = 3

/** Longest text in a fact that other text operators read; a longer one is unknown, never partly judged. */
export const MAX_SEEN_CHARS = 64 * 1024

/** Longest list in a fact that an operator walks through; a longer one is unknown. */
export const MAX_SEEN_ITEMS = 10_000

/** Total characters of a list walked with a text operator; more is unknown. */
export const MAX_SEEN_LIST_CHARS = 16 * 1024

/** Problems listed for one rule; twenty are enough to start with. */
export const MAX_PROBLEMS = 20

/** How much of an observed value an explanation shows. */
export const MAX_SHOWN_CHARS = 200
export const MAX_SHOWN_ITEMS = 10
