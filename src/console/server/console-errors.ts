// The numbered errors of the console.
import { errorTable } from '#lib/error-table.ts'

export const consoleErrors = errorTable({
  KN16001: {
    text: 'cannot serve the console on {host} port {port}: {why}',
    next: 'give --port another port, or 0 for one that is free',
  },
  KN16002: {
    text: 'cannot show {found} clusters, {most} at most',
    next: 'name the contexts to show with --context',
  },
})
