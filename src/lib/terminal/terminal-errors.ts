// The numbered errors for programs that end without a better one.
import { errorTable } from '#lib/error-table.ts'

export const terminalErrors = errorTable({
  KN1000: {
    text: 'kubenode hit a bug',
    next: 'please report it with the lines below\n{stack}',
  },
  KN1002_input: {
    text: 'cannot {what}: {why}',
    next: 'correct this and try again',
  },
})
