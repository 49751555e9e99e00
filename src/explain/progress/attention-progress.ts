// What needs attention in a fleet on this machine, worst first. Pure.
import { HUB_TARGET } from '#api/names.ts'
import { attentionOf } from '../attention/attention.ts'
import { type FleetFinding, worstFirst } from '../attention/finding.ts'
import { type ObservedCluster, type ObservedKinds, observedMachine } from '../attention/observed.ts'
import { isStarting, type StoppedProgram } from '../programs.ts'
import { inContext } from '../unblock.ts'
import type { ClusterSeen, FleetSeen, Progress } from './seen.ts'

/** `local status` and `why` show all. */
const MOST_LINES = 5

/** `since`: when the fleet was started. A machine whose agent has not reported since then still has its old status. */
export function attentionProgress(
  { hub, clusters, at = 0 }: FleetSeen,
  since: number,
  isReporting: (cluster: ClusterSeen, machine: ClusterSeen['machines'][number]) => boolean,
): readonly Progress[] {
  const ended = (stopped: readonly StoppedProgram[] = []) => stopped.filter((one) => !isStarting(one, since, at))
  const observed = [
    ...(hub.isReachable
      ? [
          observedOf(
            HUB_TARGET,
            { sources: hub.sources, releases: hub.releases, clusters: hub.clusters ?? [] },
            ended(hub.stopped),
          ),
        ]
      : []),
    ...clusters
      .filter((c) => c.isReachable)
      .map((c) => {
        const machines = c.machines.filter((m) => isReporting(c, m)).map(observedMachine)
        const { machineSets, sets, jobs, remediers: rules = [] } = c
        return observedOf(c.name, { machines, machineSets, sets, jobs, rules }, ended(c.stopped))
      }),
  ]
  const acting = worstFirst(attentionOf(observed, at)).filter(({ weight }) => weight === 'Act')
  const more = acting.length - MOST_LINES
  return [
    ...acting.slice(0, MOST_LINES).map(progressOf),
    ...(more > 0 ? [{ of: '', label: 'attention', text: `and ${more} more: kubenode why` } as const] : []),
  ]
}

function progressOf({ object, text, command, ends }: FleetFinding): Progress {
  const first = command === undefined ? ends : inContext(command.line, object.cluster)
  return {
    of: object.cluster,
    label: 'attention',
    text: `${text.split('\n')[0] ?? ''}${first === undefined ? '' : `; ${first}`}`,
  }
}

type Lists = { readonly [K in keyof ObservedKinds]?: readonly ObservedKinds[K][] }

const observedOf = (name: string, lists: Lists, stopped: readonly StoppedProgram[] = []): ObservedCluster => ({
  name,
  state: 'Connected',
  list: <K extends keyof ObservedKinds>(kind: K): readonly ObservedKinds[K][] => lists[kind] ?? [],
  stopped,
  gap: undefined,
})
