// The numbered errors of nodeops.
import { errorTable } from '#lib/error-table.ts'

export const nodeopsErrors = errorTable({
  KN3061: {
    text: 'cannot name secret values: Secret {systemNamespace}/{hashKeySecret} has no key of {hashKeyBytes} bytes',
    next: 'delete it, and another is made',
  },
})
