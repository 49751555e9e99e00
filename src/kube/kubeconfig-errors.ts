// What is refused in an untrusted kubeconfig. Each finding has a number; the error has the first one's.
import { errorTable } from '#lib/error-table.ts'

const TEXT = 'cannot use the kubeconfig of {origin}: {problems}'

export const kubeconfigErrors = errorTable({
  KN2100: { text: TEXT, next: 'give a kubeconfig of kind Config in one YAML document, with the fields listed' },
  KN2101: { text: TEXT, next: 'remove exec; use a token or a client certificate' },
  KN2102: { text: TEXT, next: 'remove auth-provider; use a token or a client certificate' },
  KN2103: { text: TEXT, next: 'put the file contents in the kubeconfig instead of the file name' },
  KN2104: { text: TEXT, next: 'remove insecure-skip-tls-verify; add certificate-authority-data' },
  KN2105: { text: TEXT, next: 'remove proxy-url' },
  KN2106: { text: TEXT, next: 'use a token or a client certificate instead of a password' },
  KN2107: { text: TEXT, next: 'use an https address without user, query and fragment' },
  KN2108: { text: TEXT, next: 'use the host name or address of the API server' },
  KN2109: { text: TEXT, next: 'remove the unknown field' },
  KN2110: { text: TEXT, next: 'use a context whose cluster and user are in the kubeconfig' },
  KN2111: { text: TEXT, next: 'set both certificate and key, as base64 of PEM' },
  KN2112: { text: TEXT, next: 'use plain text on one line' },
})
