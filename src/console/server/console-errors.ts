// The numbered errors of the console.
import { errorTable } from '#lib/error-table.ts'

export const consoleErrors = errorTable({
  KN1206_console: {
    text: 'cannot serve the console on {host} port {port}: {why}',
    next: 'give --port another port, or 0 for one that is free',
  },
  KN16002: {
    text: 'cannot show {found} clusters, {most} at most',
    next: 'name the contexts to show with --context',
  },
  KN1329_console: {
    text: 'cannot serve the console with the certificate {file}: {why}',
    next: 'name a certificate and its key in PEM that belong together',
  },
  KN16004: {
    text: 'cannot use {file} for the console: {why}',
    next: 'correct it after docs/operations/console.md',
  },
})
