// The numbered errors of what the console does in a repository of the fleet.
import { errorTable } from '#lib/error-table.ts'

export const consoleRepositoryErrors = errorTable({
  KN1720: {
    text: '{most} plans are waiting already',
    next: 'wait until one is done, or run kubenode plan in a terminal',
  },
})
