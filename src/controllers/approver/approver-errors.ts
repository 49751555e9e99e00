// The numbered errors of the approver.
import { errorTable } from '#lib/error-table.ts'

export const approverErrors = errorTable({
  KN12070: {
    text: 'cannot get a token for service account {account}: {why}',
    next: 'retried automatically; until it works, no host joins with service accounts and agents get no new tokens',
  },
})
