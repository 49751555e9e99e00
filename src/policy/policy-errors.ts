// The numbered errors of rules. KN4001 to KN4014 and KN4017 are findings: compiling a rule lists them with place and hint.
import { errorTable } from '#lib/error-table.ts'

export const policyErrors = errorTable({
  KN4001: {
    text: 'at {pointer}: the condition has the wrong shape',
    next: 'write a fact with an operator and a value, or all, any or not',
  },
  KN4002: {
    text: 'at {pointer}: the rule is too large',
    next: 'split it into several rules',
  },
  KN4003: {
    text: 'at {pointer}: the rule nests too deeply',
    next: 'flatten it, or split it',
  },
  KN4004: {
    text: 'at {pointer}: the rule has too many conditions',
    next: 'split it into several rules',
  },
  KN4005: {
    text: 'at {pointer}: unknown field',
    next: 'remove it, or use the suggested name',
  },
  KN4006: {
    text: 'at {pointer}: unknown fact',
    next: 'use one of the facts listed',
  },
  KN4007: {
    text: 'at {pointer}: the fact has no such path',
    next: 'use one of the paths listed',
  },
  KN4008: {
    text: 'at {pointer}: the path is not a JSON pointer',
    next: 'write one like /node/status',
  },
  KN4009: {
    text: 'at {pointer}: unknown operator',
    next: 'use one of the operators listed',
  },
  KN4010: {
    text: 'at {pointer}: the operator does not fit the type of the fact',
    next: 'use one of the operators listed',
  },
  KN4011: {
    text: 'at {pointer}: the value has the wrong type',
    next: 'write a value of the type that the operator needs',
  },
  KN4012: {
    text: 'at {pointer}: the operator does not accept this value',
    next: 'correct the value as described',
  },
  KN4013: {
    text: 'at {pointer}: not a duration',
    next: 'write one like 90s, 5m or 1h30m',
  },
  KN4014: {
    text: 'at {pointer}: the group has no conditions',
    next: 'add one, or remove the group',
  },
  KN4015: {
    text: 'cannot create a set of {count} rules (limit {maxRules})',
    next: 'merge rules or remove some',
  },
  KN4016: {
    text: 'cannot create a set with two rules named {name}',
    next: 'rename one',
  },
  KN4017: {
    text: 'the rule has no name, or the name is too long',
    next: 'give the rule a short name',
  },
  KN4018: {
    text: 'cannot evaluate rules at {now}: it is not a time',
    next: 'pass milliseconds since 1970',
  },
  KN4019: {
    text: 'the rule {why}',
    next: 'remove one of the two, or combine them with any',
  },
})
