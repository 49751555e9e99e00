// Takes a node out of service. Its provider switches the machine off and reports it as Stopped, then the node is tainted, and once its pods were
// given up the machine is switched on. Silence alone is never enough: if the machine runs behind a broken network, its workloads would be started
// twice. Neither is a single answer of the provider, or any answer while the node sends heartbeats.
import { uidOf } from '#api/schema/object-meta.ts'
import { messageOf } from '#lib/errors.ts'
import { counted } from '#lib/counted.ts'
import { drainPlan, podsOn } from '#nodes/drain.ts'
import { fence, isFencedBy } from '#nodes/fence.ts'
import { foreignHost } from '#providers/foreign-host.ts'
import type { Clearance } from '#permits/under-permit.ts'
import type { Host, Provider } from '#providers/port.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { type JobStep, type Seen, cordonOwner } from '../seen.ts'
import { type JobTools, applied, failed, hostOf, nodeTools, settled } from './step-tools.ts'
import { shortened } from '#lib/shortened.ts'

/** A machine takes some time to switch off. */
const FENCE_REQUEUE_MS = 5_000
const SOON_MS = 500
/** A control plane gives up the pods of a tainted node within seconds. If it does not, that must not keep the machine off. */
const GIVE_UP_WITHIN_MS = 120_000

/** Recorded before the order: KubeNode switches on only machines that it switched off. */
const SWITCHING = 'switching the machine off'

export async function fenceOff(
  clearance: Clearance,
  tools: JobTools,
  step: JobStep,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const at = hostOf(tools, seen)
  if (typeof at === 'string') return failed(`${at}: it is unknown whether it is off`)
  const { provider, providerID } = at
  const isOurs = step.output?.startsWith(SWITCHING) === true
  const { job } = seen
  const owner = cordonOwner(job)
  try {
    const found = await provider.get(providerID, signal)
    const foreign = foreignHost(found, seen.machine?.metadata.uid)
    if (foreign !== undefined) return isOurs ? again(foreign) : failed(`${foreign}: it is unknown whether it is off`)
    const repair = uidOf(job)
    if (found !== undefined && found.state !== 'Stopped') {
      tools.off.forget(repair)
      if (isOurs && isFencedBy(seen.node, owner)) return applied({ outcome: 'Succeeded', output: DONE })
      return await switchOff(clearance, { provider, found, isOurs }, signal)
    }
    const doubt = isFencedBy(seen.node, owner) ? undefined : doubtOf(tools, seen, found)
    if (doubt !== undefined) return isOurs ? again(doubt) : applied({ output: doubt, againMs: FENCE_REQUEUE_MS })
    tools.off.forget(repair)
    const tainted = settled(
      await fence(clearance, nodeTools(tools, signal), job.spec.node, owner),
      'the machine is off',
    )
    if (!isOurs || found === undefined || tainted.kind !== 'Applied') return tainted
    const { evict, going } = drainPlan(await podsOn(tools.client, job.spec.node.name, signal))
    const left = evict.length + going.length
    const waitedMs = tools.clock.now() - Date.parse(step.startedAt ?? '')
    if (left > 0 && waitedMs < GIVE_UP_WITHIN_MS)
      return again(`the machine is off; ${counted(left, 'pod', 'pods')} left on its node`)
    await provider.power?.(providerID, 'On', undefined, signal)
    return applied({ outcome: 'Succeeded', output: DONE })
  } catch (error) {
    const text = `the provider cannot tell whether the machine is off: ${messageOf(error)}`
    return applied({ output: (isOurs ? `${SWITCHING}; ${text}` : text).slice(0, 200) })
  }
}

/** Why the machine may still run although its provider reports it as off. */
function doubtOf({ off }: JobTools, { job, standing }: Seen, found: Host | undefined): string | undefined {
  const evidence = `the provider ${found === undefined ? 'no longer has the machine' : 'reports the machine as Stopped'}`
  const isSure = off.untilSureMs(uidOf(job)) === 0
  if (standing.kind === 'Readable') return `${evidence}, but its node still sends heartbeats`
  return isSure ? undefined : `${evidence}; waiting for it to report so again`
}

const DONE = 'the machine was switched off, taken out of service, and switched on'

const again = (what: string): ActionOutcome =>
  applied({ output: shortened(`${SWITCHING}; ${what}`, 200), againMs: FENCE_REQUEUE_MS })

interface Running {
  readonly provider: Provider
  readonly found: Host
  readonly isOurs: boolean
}

async function switchOff(
  _clearance: Clearance,
  { provider, found, isOurs }: Running,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const what = `the provider reports the machine as ${found.state}`
  if (provider.power === undefined) return applied({ output: what, againMs: FENCE_REQUEUE_MS })
  if (!isOurs) return applied({ output: SWITCHING, againMs: SOON_MS })
  await provider.power(found.providerID, 'Off', { hard: true }, signal)
  return again(what)
}
