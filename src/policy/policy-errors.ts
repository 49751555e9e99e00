// The numbered errors of rules. Problems found while compiling a rule have their numbers in problem.ts.
import { errorTable } from '#lib/error-table.ts'

export const policyErrors = errorTable({
  KN4002_set: {
    text: 'cannot create a set of {count} rules (limit {maxRules})',
    next: 'merge rules or remove some',
  },
  KN4016: {
    text: 'cannot create a set with two rules named {name}',
    next: 'rename one',
  },
  KN1000_time: {
    text: 'cannot evaluate rules at {now}: it is not a time',
    next: 'pass milliseconds since 1970',
  },
  KN4001_never: {
    text: 'the rule {why}',
    next: 'remove one of the two, or combine them with any',
  },
})
