// What needs attention in the local fleet, as lines of the screen, in the words of the one attention model. Pure.
import { attentionOf } from '#explain/attention/attention.ts'
import { type FleetFinding, worstFirst } from '#explain/attention/finding.ts'
import { type ObservedCluster, type ObservedKinds, observedMachine } from '#explain/attention/observed.ts'
import type { Program } from '#explain/programs.ts'
import { HUB } from './layout.ts'
import type { ClusterSeen, FleetSeen, StoppedProgram } from './seen.ts'

/** `local status` and `why` have all. */
const MOST_LINES = 5

/** Machines whose agents have not reported since the start have the status of before. */
export function attentionLines(
  { hub, clusters, at = 0 }: FleetSeen,
  isHeard: (cluster: ClusterSeen, machine: ClusterSeen['machines'][number]) => boolean,
): readonly string[] {
  const observed = [
    ...(hub.isReachable
      ? [observedOf(HUB, { sources: hub.sources, releases: hub.releases, clusters: hub.clusters ?? [] }, hub.stopped)]
      : []),
    ...clusters
      .filter((c) => c.isReachable)
      .map((c) => {
        const machines = c.machines.filter((m) => isHeard(c, m)).map(observedMachine)
        const { machineSets, sets, jobs, remediers: rules = [] } = c
        return observedOf(c.name, { machines, machineSets, sets, jobs, rules }, c.stopped)
      }),
  ]
  const acting = worstFirst(attentionOf(observed, at)).filter(({ weight }) => weight === 'Act')
  const more = acting.length > MOST_LINES ? [`and ${acting.length - MOST_LINES} more: kubenode why`] : []
  return [...acting.slice(0, MOST_LINES).map(lineOf), ...more.map((text) => `${''.padEnd(6)}   attention  ${text}`)]
}

/** One line of the screen. */
function lineOf({ object, text, command, ends }: FleetFinding): string {
  const first = command?.line ?? ends
  return `${object.cluster.padEnd(6)}   attention  ${text.split('\n')[0] ?? ''}${first === undefined ? '' : `; ${first}`}`
}

type Lists = { readonly [K in keyof ObservedKinds]?: readonly ObservedKinds[K][] }

const observedOf = (name: string, lists: Lists, stopped: readonly StoppedProgram[] = []): ObservedCluster => ({
  name,
  state: 'Connected',
  list: <K extends keyof ObservedKinds>(kind: K): readonly ObservedKinds[K][] => lists[kind] ?? [],
  stopped: stopped.map((p) => ({ program: p.name as Program, since: p.since })),
  gap: undefined,
})
