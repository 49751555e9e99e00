// The numbered errors of the job controller.
import { errorTable } from '#lib/error-table.ts'

export const remedyjobErrors = errorTable({
  KN3001_job: {
    text: 'cannot {event} job {name}: {refusal}',
    next: 'retried automatically',
  },
  KN3001_step: {
    text: 'cannot {event} a step: {refusal}',
    next: 'retried automatically',
  },
  KN3001_request: {
    text: 'cannot {kind}: {why}',
    next: 'retried automatically',
  },
})
