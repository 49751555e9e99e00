// Which agents wait for a user: those with an expired certificate at the rejoin endpoint, and those with a certificate of an earlier Machine with the same name.
import { listAll } from '#kube/list-all.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { AGENT_SIGNER, AGENTS_GROUP, ANNOTATIONS, machineUidGroup } from '#api/names.ts'
import { createdAt } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { acceptsProvedKey, hasAcceptedKey } from './agent-key.ts'
import { machineIn } from './agent-request.ts'
import { type CertificateRequest, certificateRequestType } from './certificate-request.ts'
import { claimedKey, proofIn } from './door/proof.ts'
import { isOfDoor, isUndecided } from './door/queue.ts'
import { formatAge } from '#lib/duration.ts'

export interface WaitingMachine {
  readonly name: string
  readonly since: string
  readonly why: string
  /** Whether `readmit` alone is enough. */
  readonly canReturn: boolean
}

export async function waitingMachines(client: KubeClient): Promise<readonly WaitingMachine[]> {
  const requests = (await listAll(client, certificateRequestType)).filter(
    (r) => r.spec.signerName === AGENT_SIGNER && isUndecided(r),
  )
  if (requests.length === 0) return []
  const machines = new Map((await listAll(client, machineType)).map((m) => [m.metadata.name ?? '', m]))
  const found = new Map<string, WaitingMachine>()
  for (const r of requests) {
    const waiting = isOfDoor(r) ? atDoor(r, machines) : ofEarlierMachine(r, machines)
    const before = waiting && found.get(waiting.name)
    if (waiting !== undefined && (before === undefined || (!before.canReturn && waiting.canReturn)))
      found.set(waiting.name, waiting)
  }
  return [...found.values()].sort((a, b) => a.name.localeCompare(b.name))
}

type Machines = ReadonlyMap<string, Machine>

function atDoor(request: CertificateRequest, machines: Machines): WaitingMachine | undefined {
  const proof = proofIn(request.metadata.annotations?.[ANNOTATIONS.doorProof])
  const machine = proof && machines.get(proof.machine)
  if (proof === undefined || machine === undefined || machine.metadata.uid !== proof.uid) return undefined
  const canReturn = acceptsProvedKey(machine, claimedKey(proof))
  const why = canReturn ? 'certificate expired' : 'key revoked or replaced; needs --token'
  return { name: proof.machine, since: createdAt(request), why, canReturn }
}

function ofEarlierMachine(request: CertificateRequest, machines: Machines): WaitingMachine | undefined {
  const { username = '', groups = [] } = request.spec
  const name = machineIn(username)
  const machine = name === undefined ? undefined : machines.get(name)
  if (name === undefined || machine === undefined || !groups.includes(AGENTS_GROUP)) return undefined
  if (groups.includes(machineUidGroup(machine.metadata.uid ?? ''))) return undefined
  const canReturn = hasAcceptedKey(machine)
  const why = canReturn ? 'certificate is of an earlier Machine' : 'key revoked; needs --token'
  return { name, since: createdAt(request), why, canReturn }
}

const HEAD = ['MACHINE', 'WAITING', 'WHY'] as const

/** The lines of a table. */
export function waitingTable(waiting: readonly WaitingMachine[], now: number): readonly string[] {
  const rows = waiting.map((w) => [w.name, formatAge(now - (Date.parse(w.since) || now)), w.why])
  const all = [HEAD, ...rows]
  const width = (column: number) => Math.max(...all.map((row) => row[column]?.length ?? 0))
  const [first, second] = [width(0), width(1)]
  return all.map(([name = '', since = '', why = '']) => `${name.padEnd(first)}   ${since.padEnd(second)}   ${why}`)
}
