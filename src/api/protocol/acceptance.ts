// The acceptance of a new Node, as the machine controller orders it and the agent obeys it. Pure.
import { canonicalJson } from '#lib/json.ts'
import { sha256Hex } from '#lib/sha256.ts'
import type { Machine, MachineAcceptance } from '../kinds/machine.ts'

const RUN_CHARS = 16

/** The same for every attempt at the same thing on the same Node. A changed limit is not another thing. */
const subjectOf = ({ timeout: _t, retries: _r, ...what }: MachineAcceptance, nodeUid: string): string =>
  canonicalJson([nodeUid, what])

export const acceptanceRun = (acceptance: MachineAcceptance, nodeUid: string, attempt: number): string =>
  sha256Hex(`${subjectOf(acceptance, nodeUid)}\n${attempt}`).slice(0, RUN_CHARS)

type Acceptable = Pick<Machine, 'spec' | 'status'>

/** The recorded attempt, if it is about what must pass now, on this Node. */
export function currentAcceptance({ spec, status }: Acceptable, nodeUid: string | undefined) {
  const { acceptance: wanted } = spec
  const record = status?.acceptance
  if (wanted === undefined || record === undefined || nodeUid === undefined) return undefined
  return record.run === acceptanceRun(wanted, nodeUid, record.attempt) ? record : undefined
}

/** Nothing must pass on this Node, or it is recorded that it passed. */
export const isAccepted = (machine: Acceptable, nodeUid: string | undefined): boolean =>
  machine.spec.acceptance === undefined || currentAcceptance(machine, nodeUid)?.phase === 'Passed'

/** The order to the agent: what to run under which name. */
export function orderedAcceptance(
  machine: Acceptable,
): { readonly run: string; readonly acceptance: MachineAcceptance } | undefined {
  const { acceptance } = machine.spec
  const record = currentAcceptance(machine, machine.status?.acceptance?.node)
  // A pod is not the agent's.
  if (acceptance?.script === undefined || record?.phase !== 'Running') return undefined
  return { run: record.run, acceptance }
}
