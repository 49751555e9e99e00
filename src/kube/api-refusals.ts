// API server refusals, numbered by HTTP status where the reader can act on it: KN2404 is HTTP 404.
import { errorTable } from '#lib/error-table.ts'

const TEXT = 'cannot {action} {target}: {reason}: {text}'

/** KN2400 covers requests that a retry cannot fix, KN2500 those it may. */
export const apiRefusals = errorTable({
  KN2400: { text: TEXT, next: 'correct the request' },
  KN2401: { text: TEXT, next: 'check that the token or client certificate is valid and not expired' },
  KN2403: { text: TEXT, next: 'ask for the missing permission (kubectl auth can-i)' },
  KN2404: { text: TEXT, next: 'check the name, and that the kind is installed' },
  KN2409: { text: TEXT, next: 'read the object again and decide with its current state' },
  KN2410: { text: TEXT, next: 'list again' },
  KN2413: { text: TEXT, next: 'make the request smaller' },
  KN2422: { text: TEXT, next: 'correct the object' },
  KN2500: { text: TEXT, next: 'retried automatically' },
  KN2507: { text: TEXT, next: 'free space on the disk of the API server; retried automatically' },
})
