// Which programs an object depends on do not run: their lease was released, not renewed, or never taken. Without the right to read leases nothing is concluded.
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type Clock, systemClock, timestamp } from '#lib/clock.ts'
import { formatDuration } from '#lib/duration.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Lease, lapsedAt, leaseType } from '#runtime/lease.ts'
import type { Story } from '#explain/told.ts'

type Program = 'controllers' | 'defender' | 'sync'

const OF_MACHINES: readonly Program[] = ['controllers', 'defender']

/** Those that move an object of a kind on. */
const NEEDED: Readonly<Record<string, readonly Program[]>> = {
  ComponentCanary: OF_MACHINES,
  Machine: OF_MACHINES,
  MachineComponentSet: OF_MACHINES,
  MachineSet: OF_MACHINES,
  Node: OF_MACHINES,
  NodeRemedier: OF_MACHINES,
  RemedyOperationJob: OF_MACHINES,
  DefenderPolicy: ['defender'],
  OperationPermit: ['defender'],
  Cluster: ['sync'],
  FleetSource: ['sync'],
  Release: ['sync'],
  ReleasePipeline: ['sync'],
}

const TITLES: Readonly<Record<Program, string>> = {
  controllers: 'the controllers have',
  defender: 'the Defender has',
  sync: 'sync has',
}

const EFFECTS: Readonly<Record<Program, string>> = {
  controllers: 'nothing continues, and statuses may be out of date',
  defender: 'no permit is granted, so disruptions do not begin',
  sync: 'no commit is read, and no release continues',
}

interface Stopped {
  readonly program: Program
  /** Undefined: it never ran here. */
  readonly since: number | undefined
}

interface OldLease extends Stopped {
  readonly lease: Lease | undefined
}

/** Leaders renew every two seconds. */
const RENEWED_WITHIN_MS = 5_000

/** A lease that seems old by our clock is read once more: the clock may be ahead. */
export async function stoppedPrograms(
  client: Pick<KubeClient, 'get'>,
  kinds: readonly string[],
  clock: Clock = systemClock,
): Promise<readonly Stopped[]> {
  const needed = [...new Set(kinds.flatMap((kind) => NEEDED[kind] ?? []))]
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
export const stoppedStories = (stopped: readonly Stopped[], now: number): readonly Story[] =>
  stopped.map(({ program, since }) => ({
    object: program,
    text: program,
    below: [
      {
        text: stoppedText({ program, since }, now),
        urgency: 'Stopped',
        command: { line: 'kubenode check', does: 'see more' },
      },
    ],
  }))

export const stoppedText = ({ program, since }: Stopped, now: number): string =>
  since === undefined
    ? `Stopped: ${TITLES[program]} never run here; ${EFFECTS[program]}`
    : `Stopped for ${formatDuration(now - since)}: ${TITLES[program]} not renewed the lease since ${timestamp(since)}; ${EFFECTS[program]}`
