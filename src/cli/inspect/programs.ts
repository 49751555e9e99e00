// Which programs an object depends on do not run: their lease was released, not renewed, or never taken. Without the right to read leases nothing is concluded.
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Clock, systemClock } from '#lib/clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Lease, lapsedAt, leaseType } from '#runtime/lease.ts'
import { type Program, programsOf, type StoppedProgram, stoppedTold } from '#explain/programs.ts'
import type { Story } from '#explain/told.ts'

interface OldLease extends StoppedProgram {
  readonly lease: Lease | undefined
}

/** Leaders renew every two seconds. */
const RENEWED_WITHIN_MS = 5_000

/** A lease that seems old by our clock is read once more: the clock may be ahead. */
export async function stoppedPrograms(
  client: Pick<KubeClient, 'get'>,
  kinds: readonly string[],
  clock: Clock = systemClock,
): Promise<readonly StoppedProgram[]> {
  const needed = programsOf(kinds)
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

/** A story for each, in the form of those of objects. */
export const stoppedStories = (stopped: readonly StoppedProgram[], now: number): readonly Story[] =>
  stopped.map((one) => ({ object: one.program, text: one.program, below: [stoppedTold(one, now)] }))
