// `kubenode machine revoke`: a user declares these machines' keys invalid, so that no component accepts them from now on.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { isConflict } from '#kube/errors.ts'
import { revocation, tokenKeyOf } from '#identity/agent-key.ts'
import { machinesErrors } from '#agent/join/machines-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { type MachineChoice, namedMachines } from './named-machines.ts'

const LONGEST_REASON = 200
/** Each is a read and a write; concurrent changes come from KubeNode programs and are brief. */
const TRIES = 10

export interface RevokeOptions extends MachineChoice {
  readonly reason?: string
  readonly now: number
}

const wrong = (why: string, cause?: unknown) => new KubeNodeError(machinesErrors.KN1002_revoke({ why }), { cause })

export async function revoke(
  options: RevokeOptions,
  io: Pick<Io, 'out' | 'err'>,
): Promise<{ readonly failed: number }> {
  const { reason = '' } = options
  if (reason.length > LONGEST_REASON) throw wrong(`--reason is longer than ${LONGEST_REASON} characters`)
  const { machines, missing } = await namedMachines(options, wrong)
  for (const line of missing) io.err(shownLine(line))
  let failed = missing.length
  const revoked: Machine[] = []
  for (const m of machines) {
    const name = m.metadata.name ?? ''
    try {
      await mark(options, m)
      revoked.push(m)
      io.out(shownLine(`machine/${name} key revoked`))
    } catch (e) {
      failed++
      io.err(shownLine(`machine/${name}: ${messageOf(e)}`))
    }
  }
  for (const line of revoked.length === 0 ? [] : whatItDoes(revoked)) io.out(shownLine(line))
  return { failed }
}

function whatItDoes(revoked: readonly Machine[]): readonly string[] {
  const hasAccount = revoked.some((m) => tokenKeyOf(m) !== undefined)
  const hasCertificate = revoked.some((m) => tokenKeyOf(m) === undefined)
  const [first, ...others] = revoked.map((m) => m.metadata.name ?? '')
  return [
    ...(hasCertificate
      ? [
          'ended now: renewals of the certificate and writes to the status of the Machine; on an embedded API server, everything',
          'on other API servers, until the certificate expires: reads, and writes to its own Lease, Node, jobs and events',
        ]
      : []),
    ...(hasAccount
      ? [
          'ended now for agents with service accounts: everything, once the approver has deleted the account; without an approver, within an hour',
        ]
      : []),
    `next: kubenode machine readmit ${others.length === 0 ? first : 'NAME'} --token lets the host join with a new key; or delete the Machine`,
  ]
}

/** Writes over the same version whose keys are listed: a key that the approver records meanwhile would count as a later one. */
async function mark({ client, now, reason = '' }: RevokeOptions, machine: Machine): Promise<void> {
  let current: Machine = machine
  for (let tries = 1; ; tries++) {
    try {
      return await markOnce(client, current, revocation(current, now, reason))
    } catch (e) {
      if (!isConflict(e) || tries >= TRIES) throw e
      const again = await client.get(machineType, { name: machine.metadata.name ?? '' })
      if (again === undefined || again.metadata.uid !== machine.metadata.uid)
        throw wrong('the Machine was deleted meanwhile')
      current = again
    }
  }
}

async function markOnce(client: KubeClient, { metadata }: Machine, record: string): Promise<void> {
  const { name = '', uid, resourceVersion } = metadata
  const annotations = { [ANNOTATIONS.revoked]: record }
  const value = { metadata: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }), annotations } }
  await client.patch(machineType, { name }, { type: 'merge', value }, { fieldManager: FIELD_MANAGERS.cli })
}
