// The numbered errors of remedyjob.
import { errorTable } from '#lib/error-table.ts'

export const remedyjobErrors = errorTable({
  KN12001: {
    text: 'cannot {event} job {name}: {refusal}',
    next: 'retried automatically',
  },
  KN12002: {
    text: 'cannot {event} a step: {refusal}',
    next: 'retried automatically',
  },
  KN12003: {
    text: 'cannot {kind}: {why}',
    next: 'retried automatically',
  },
})
