// The numbered errors of kubenode provider.
import { errorTable } from '#lib/error-table.ts'

export const providerErrors = errorTable({
  KN1700: {
    text: 'which provider?',
    next: 'name its --socket, or its --url (https) with --ca',
  },
  KN1701: {
    text: 'cannot use the parameter {text}',
    next: 'write --params KEY=VALUE, once for each',
  },
  KN1702: {
    text: 'cannot wait for {timeout}',
    next: 'give a duration such as 30s or 10m',
  },
})
