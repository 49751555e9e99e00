// What failed in a rollout, in a few words: the component with its version, and where. Pure.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { counted } from '#lib/counted.ts'

const ANSWER = /\bHTTP \d{3}\b/

/** `beacon 1.2.0 fails its probe on n-3 (HTTP 503)`. Undefined: no slice of the status failed. */
export function failureTitle({ status }: Pick<MachineComponentSet, 'status'>): string | undefined {
  const failed = status?.slices?.findLast(({ phase, recovery }) => phase === 'Failed' && recovery === undefined)
  if (failed === undefined) return undefined
  const { component, version, machines, failed: count = 0 } = failed
  const [only = ''] = machines
  const where = machines.length === 1 ? only : `${count} of ${counted(machines.length, 'machine')}`
  const why = status?.waitingFor?.seen ?? ''
  const answer = ANSWER.exec(why)?.[0]
  const what = version === undefined ? `removing ${component}` : `${component} ${version}`
  const how = version !== undefined && why.includes('ProbeFailed') ? 'fails its probe' : 'failed'
  return `${what} ${how} on ${where}${answer === undefined ? '' : ` (${answer})`}`
}
