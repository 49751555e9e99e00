// What is refused in an untrusted kubeconfig. Each finding has a number; the error has the first one's.
import { errorTable } from '#lib/error-table.ts'

const TEXT = 'cannot use the kubeconfig of {origin}: {problems}'

export const kubeconfigErrors = errorTable({
  KN2100: { text: TEXT, next: 'give one YAML document of kind Config with a complete context, and the fields listed' },
  KN2101: { text: TEXT, next: 'use a token, or a client certificate with its contents in the kubeconfig' },
  KN2107: {
    text: TEXT,
    next: 'use https://HOST:PORT of the API server and certificate-authority-data, without proxy-url',
  },
})
