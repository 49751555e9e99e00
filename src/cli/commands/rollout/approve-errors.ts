// The numbered errors of approve.
import { errorTable } from '#lib/error-table.ts'

export const approveErrors = errorTable({
  KN1002_approval: {
    text: 'cannot approve for {length}',
    next: 'write a duration such as 1h, at most 7d',
  },
  KN1325_approve: {
    text: 'cannot approve {what}',
    next: 'name it as operationpermit/NAME, release/NAME or source/NAME, or as the whole digest of a plan, sha256:…',
  },
  KN1335: {
    text: 'cannot approve {what}: the server did not identify you',
    next: 'log in first',
  },
  KN1349: {
    text: 'cannot approve {digest}: nothing asks for an approval of it now',
    next: 'once the commit is applied, kubenode get releases shows what waits; if it asks for another digest than the plan names, it deletes other objects: read kubenode release status NAME before you approve',
  },
})
