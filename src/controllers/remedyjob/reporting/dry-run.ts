// What a dry run says of itself: which pods its drain would move, as far as that is known before a cordon and the kubelet's answer. Pure.
import { counted } from '#lib/counted.ts'
import { mayUseDevices, scopeIfBegun } from '#nodes/device-users.ts'
import { movingPods } from '#nodes/drain.ts'
import type { Seen } from '../seen.ts'
import { drainOptionsOf } from '../steps/drain-options.ts'

const NOTHING_DONE = 'dry run: no permit requested and no action taken'

export function dryRunText({ job, node, remedier, pods }: Pick<Seen, 'job' | 'node' | 'remedier' | 'pods'>): string {
  const index = job.spec.operations.findIndex((o) => o.drain !== undefined)
  const drain = job.spec.operations[index]?.drain
  if (drain === undefined) return NOTHING_DONE
  const all = pods && movingPods(pods, drainOptionsOf(drain))
  const whole = `it would drain ${all === undefined ? 'all pods' : counted(all.length, 'pod')} of the node`
  if (drain.usersOf === undefined) return `${NOTHING_DONE}; ${whole}`
  const verify = remedier?.spec.ladder[job.spec.rung]?.verify
  const { faulty, why } = scopeIfBegun({ job, node, verify }, index)
  if (faulty === undefined) return `${NOTHING_DONE}; ${whole}: ${why}`
  const most = all === undefined ? '' : `, at most ${all.filter(mayUseDevices).length} of ${all.length}`
  return `${NOTHING_DONE}; it would drain only the pods that may use ${faulty.join(', ')}${most}`
}
