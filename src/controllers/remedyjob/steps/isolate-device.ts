// Keeps new pods away from the faulty accelerators of a node, where Kubernetes can. Where it cannot, the step is skipped with the reason.
import { FIELD_MANAGERS } from '#api/names.ts'
import { printableLine } from '#lib/printable.ts'
import { ApiError, isServerError } from '#kube/errors.ts'
import { faultyDevices } from '#nodes/device-users.ts'
import { devicesOn } from '#nodes/dra/devices-on.ts'
import { deviceTaintRules, isolate, taintRule } from '#nodes/dra/isolation.ts'
import type { Clearance } from '#permits/under-permit.ts'
import type { StepResult } from '../actions.ts'
import type { Seen } from '../seen.ts'
import type { JobTools } from './step-tools.ts'

const MOST_TEXT = 400

export async function isolateDevice(
  clearance: Clearance,
  { client }: Pick<JobTools, 'client'>,
  { job, node }: Pick<Seen, 'job' | 'node'>,
  signal: AbortSignal,
): Promise<StepResult> {
  const wanted = faultyDevices(node)
  if (typeof wanted === 'string') return skipped(wanted)
  try {
    const kind = await deviceTaintRules(client, signal)
    if (kind === undefined) return skipped('the API server has no DeviceTaintRules')
    const { incident } = job.spec
    const devices = (await devicesOn(client, job.spec.node.name, signal)).filter((d) => wanted.buses.has(d.bus))
    if (devices.length === 0) return skipped(`no ResourceSlice of the node has a device at ${listed(wanted.buses)}`)
    const options = { fieldManager: FIELD_MANAGERS.remedyJob, signal }
    for (const device of devices) {
      const value = wanted.buses.get(device.bus) ?? ''
      await isolate(clearance, client, kind, taintRule(kind, device, { incident, value }), options)
    }
    const names = devices.map(({ driver, pool, device, bus }) => `${driver}/${pool}/${device} at ${bus}`)
    return { outcome: 'Succeeded', output: cut(`no new pods on ${names.join(', ')}`) }
  } catch (error) {
    // A server that does not answer is asked again; what it refuses now, it refuses then.
    if (!(error instanceof ApiError) || isServerError(error)) throw error
    return skipped(error.message)
  }
}

const cut = (text: string): string => printableLine(text).slice(0, MOST_TEXT)
const listed = (buses: ReadonlyMap<string, string>): string => [...buses.keys()].join(', ')
const skipped = (why: string): StepResult => ({ outcome: 'Skipped', output: cut(`no device isolated: ${why}`) })
