// Which of an object's programs do not run: their lease was released, not renewed, or never taken. Without the right to read leases, nothing is concluded.
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { isForbidden } from '#kube/errors.ts'
import { type Lease, lapsedAt, leaseType } from '#runtime/lease.ts'
import { type Program, programsOf, type StoppedProgram, stoppedFinding } from './programs.ts'
import type { Story } from './finding.ts'

interface OldLease extends StoppedProgram {
  readonly lease: Lease | undefined
}

/** Leaders renew every two seconds. */
const RENEWED_WITHIN_MS = 5_000

/** A lease that looks old is read once more, because the local clock may be ahead. */
export async function stoppedPrograms(
  client: Pick<KubeClient, 'get'>,
  kinds: readonly string[],
  clock: Clock = systemClock,
): Promise<readonly StoppedProgram[]> {
  return stoppedAmong(client, programsOf(kinds), clock)
}

/** For a whole fleet: includes programs that need not run everywhere, where they have run. */
export async function readPrograms(
  client: Pick<KubeClient, 'get'>,
  kinds: readonly string[],
): Promise<readonly StoppedProgram[] | 'Hidden'> {
  const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName('controllers') }
  const isHidden = await client.get(leaseType, key).then(() => false, isForbidden)
  if (isHidden) return 'Hidden'
  const needed = programsOf(kinds)
  const some = OPTIONAL.filter((program) => kinds.includes(program === 'cluster' ? 'Cluster' : 'Machine'))
  const stopped = await stoppedAmong(client, [...needed, ...some], systemClock)
  return stopped.filter(({ program, since }) => since !== undefined || !OPTIONAL.includes(program))
}

/** An installation without these is still complete. */
const OPTIONAL: readonly Program[] = ['approver', 'cluster']

async function stoppedAmong(
  client: Pick<KubeClient, 'get'>,
  needed: readonly Program[],
  clock: Clock,
): Promise<readonly StoppedProgram[]> {
  const read = (program: Program): Promise<Lease | undefined> =>
    client.get(leaseType, { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) })
  try {
    const leases = await Promise.all(needed.map(async (program) => ({ program, lease: await read(program) })))
    const old = leases.flatMap(({ program, lease }): readonly OldLease[] => {
      if (lease === undefined) return [{ program, since: undefined, lease }]
      const since = lapsedAt(lease, clock.now())
      return since === undefined ? [] : [{ program, since, lease }]
    })
    if (old.some(({ lease }) => lease !== undefined)) await clock.sleep(RENEWED_WITHIN_MS)
    const again = await Promise.all(
      old.map(async (one) => ({ ...one, now: one.lease === undefined ? undefined : await read(one.program) })),
    )
    return again
      .filter(({ lease, now }) => lease?.metadata.resourceVersion === now?.metadata.resourceVersion)
      .map(({ program, since }) => ({ program, since }))
  } catch {
    return []
  }
}

/** One story each, in the same form as the stories of objects. */
export const stoppedStories = (stopped: readonly StoppedProgram[], now: number): readonly Story[] =>
  stopped.map((one) => ({ object: one.program, text: one.program, below: [stoppedFinding(one, now)] }))
