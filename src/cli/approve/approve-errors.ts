// The numbered errors of approve.
import { errorTable } from '#lib/error-table.ts'

export const approveErrors = errorTable({
  KN1333: {
    text: 'cannot approve for {length}',
    next: 'write a duration such as 1h, at most 7d',
  },
  KN1334: {
    text: 'cannot approve {what}',
    next: 'name it as operationpermit/NAME, release/NAME or source/NAME',
  },
  KN1335: {
    text: 'cannot approve {what}: the server did not identify you',
    next: 'log in first',
  },
})
