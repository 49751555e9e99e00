// The numbered errors of remedyjob.
import { errorTable } from '#lib/error-table.ts'

export const remedyjobErrors = errorTable({
  KN12001: {
    text: 'cannot {event} job {name}: {refusal}',
    next: 'it is looked at again',
  },
  KN12002: {
    text: 'cannot {event} a step: {refusal}',
    next: 'it is looked at again',
  },
  KN12003: {
    text: 'cannot {kind}: {why}',
    next: 'it is tried again',
  },
})
