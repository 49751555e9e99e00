// The numbered errors of bundling the programs that hosts run.
import { errorTable } from '#lib/error-table.ts'

export const bundleErrors = errorTable({
  KN1050: {
    text: 'cannot bundle the agent in {root}: the bundler is not installed',
    next: 'run npm ci without --omit=dev',
  },
  KN1051: {
    text: 'cannot make the archive of agents with {node}: {why}',
    next: 'give --node a Node.js program for Linux, one for each kind of processor',
  },
})
