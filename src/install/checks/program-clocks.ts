// How far programs' clocks are from the API server's: a leader writes its time into its Lease every few seconds, and the server dates its responses.
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import type { InstallContext } from '../context.ts'

export interface ProgramClock {
  readonly role: string
  /** A lower bound: the request's duration and the server's whole seconds do not count. */
  readonly apartMs: number
}

/** Long enough for a leader's renewal. One that does not renew is reported as missing, and its clock is unknown. */
const WITHIN_MS = 15_000
const POLL_MS = 500
const SERVER_SECOND_MS = 1_000

export async function programClocks(
  context: InstallContext,
  roles: readonly string[],
): Promise<readonly ProgramClock[]> {
  const found = await Promise.all(roles.map((role) => clockOf(context, role)))
  return found.flatMap((clock) => clock ?? [])
}

/** Only a renewal between two reads is at most as old as the time between them. */
async function clockOf(context: InstallContext, role: string): Promise<ProgramClock | undefined> {
  const { clock, signal } = context
  const began = clock.monotonic()
  const first = await leaseAt(context, role)
  if (first === undefined) return undefined
  let before = clock.monotonic()
  while (before - began < WITHIN_MS) {
    await clock.sleep(POLL_MS, signal)
    const now = await leaseAt(context, role)
    const after = clock.monotonic()
    if (now !== undefined && now.renewTime !== first.renewTime) {
      const behind = now.at - now.renewTime
      return { role, apartMs: Math.max(0, behind - (after - before), -behind - SERVER_SECOND_MS) }
    }
    before = after
  }
  return undefined
}

interface DatedLease {
  readonly renewTime: number
  readonly at: number
}

/** Undefined while no program holds it. */
async function leaseAt({ client }: InstallContext, role: string): Promise<DatedLease | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/${programLeaseName(role)}`
  const { status, text, headers } = await client.raw({ method: 'GET', path })
  if (status === 404) return undefined
  if (status !== 200) throw new Error(`GET ${path}: HTTP ${status}`)
  const body: unknown = JSON.parse(text)
  const spec = isObject(body) && isObject(body['spec']) ? body['spec'] : {}
  const [renewTime, at] = [Date.parse(String(spec['renewTime'])), Date.parse(headers['date'] ?? '')]
  if (Number.isNaN(at)) throw new Error('the API server sends no Date header')
  return Number.isNaN(renewTime) ? undefined : { renewTime, at }
}
