// Lets the provider restart a host. Machine and Lease are read again first: a machine that is back is not restarted, whatever the caches show. The order is
// recorded before it is given: a host that boots must not be cut again because an answer was lost. Without an answer, the machine is Lost in the end.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, agentLeaseKey } from '#api/names.ts'
import { rebooting } from '#api/protocol/rebooting.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { shortened } from '#lib/shortened.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { Clearance } from '#permits/under-permit.ts'
import type { Provider } from '#providers/port.ts'
import { leaseType } from '#runtime/lease.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { MachineAction } from '../actions.ts'
import type { MachineTools } from '../hosts/tools.ts'
import { ownStatusOf } from '../reporting/own-status.ts'
import type { OwnStatus } from '../status.ts'
import { isPowerCycled } from './plan.ts'

const MOST_MESSAGE = 200

type Tools = Pick<MachineTools, 'client' | 'providers' | 'cache' | 'clock' | 'log'>

export async function powerCycle(
  clearance: Clearance,
  tools: Tools,
  machine: Machine,
  { providerID, reboot, renewal }: Extract<MachineAction, { readonly kind: 'PowerCycle' }>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { client, providers, clock, log } = tools
  const provider = providers[machine.spec.provider?.name ?? '']
  if (provider === undefined) return outdated('its provider is not configured in these controllers')
  const read = await outcomeOf(() => client.get(machineType, { name: nameOf(machine) }, { signal }))
  if (read.kind !== 'Applied') return read
  const now = read.object !== undefined && uidOf(read.object) === uidOf(machine) ? read.object : undefined
  const again = now && rebooting(now)
  if (now === undefined || again?.component !== reboot.component || again.since !== reboot.since)
    return outdated('its agent has reported since')
  if (isPowerCycled(now, reboot)) return outdated('its provider has restarted it already')
  const alive = await whyAlive(client, machine, renewal, signal)
  if (alive !== undefined) return alive
  const record = { component: reboot.component, rebootingSince: reboot.since, at: timestamp(clock.now()) }
  const written = await writeOwn(tools, now, { ...ownStatusOf(now), powerCycle: record }, signal)
  if (written?.kind !== 'Applied') return written ?? outdated('its status has this record already')
  const why = await restart(clearance, provider, providerID, signal)
  if (why !== undefined) log.warn('a host may not have been restarted', { machine: nameOf(machine), reason: why })
  return written
}

/** Anything but the same heartbeat as in the decision. */
async function whyAlive(
  client: KubeClient,
  machine: Machine,
  renewal: string,
  signal: AbortSignal,
): Promise<ActionOutcome | undefined> {
  const key = agentLeaseKey(nameOf(machine))
  const read = await outcomeOf(() => client.get(leaseType, key, { signal }))
  if (read.kind !== 'Applied') return read
  if (read.object === undefined) return outdated('its agent has no Lease any more')
  return read.object.spec?.renewTime === renewal ? undefined : outdated('its agent has renewed its Lease')
}

/** Over this version only: an agent that has reported since is back. */
const writeOwn = ({ client, cache }: Tools, object: Machine, status: OwnStatus, signal: AbortSignal) =>
  writeStatus({
    client,
    cache,
    type: machineType,
    object,
    status,
    fieldManager: FIELD_MANAGERS.machine,
    signal,
    shared: { before: ownStatusOf(object), over: 'Version' },
  })

/** Undefined: ordered. */
async function restart(
  _clearance: Clearance,
  provider: Provider,
  providerID: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const ordered = await provider.reboot(providerID, { hard: true }, signal)
    return ordered === 'Ordered' ? undefined : 'the provider has no such host'
  } catch (e) {
    return shortened(messageOf(e), MOST_MESSAGE)
  }
}
