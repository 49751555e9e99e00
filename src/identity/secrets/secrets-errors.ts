// The numbered errors of Secrets used in component configurations.
import { errorTable } from '#lib/error-table.ts'

export const secretsErrors = errorTable({
  KN3061: {
    text: 'cannot name secret values: Secret {systemNamespace}/{hashKeySecret} has no key of {hashKeyBytes} bytes',
    next: 'delete the Secret; a new one is created automatically',
  },
})
