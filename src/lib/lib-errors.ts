// The numbered errors of lib.
import { errorTable } from '#lib/error-table.ts'

export const libErrors = errorTable({
  KN1010: {
    text: 'not a duration: {text}',
    next: 'write one like 90s, 5m or 1h30m',
  },
  KN1030: {
    text: 'cannot use the pattern {pattern}: {reason}',
    next: 'write it in RE2 syntax',
  },
})
