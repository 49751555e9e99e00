// The numbered errors of every command that places a hold.
import { errorTable } from '#lib/error-table.ts'

export const newHoldErrors = errorTable({
  KN1002_holdReason: {
    text: 'cannot place a hold without a reason: everyone whom it makes wait reads it',
    next: 'write one with --reason',
  },
  KN1002_holdReasonTooLong: {
    text: 'cannot place a hold with a reason of {count} characters',
    next: 'write at most {most}',
  },
})
