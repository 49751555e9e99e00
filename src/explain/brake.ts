// The brake over all clusters in words: what is stopped, since when, what lifts it, and which clusters may change. Pure.
import type { BrakeSpec, Stop } from '#api/kinds/fleet-brake.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration } from '#lib/duration.ts'
import { someOf } from '#lib/some-of.ts'
import { isInForce, stopKey } from '#sync/brake/stops.ts'

const MOST_NAMED = 5

const shortName = (cluster: string): string => cluster.slice(cluster.indexOf('/') + 1)

export const stopsInForce = ({ stops = [] }: BrakeSpec): readonly string[] => stops.filter(isInForce).map(stopKey)

export const liftCommand = (stop: Stop): string => `kubenode brake lift ${stopKey(stop)} --reason WHY`

export const stopText = (stop: Stop): string => {
  const { seen, clusters = [] } = stop
  const where = clusters.length === 0 ? '' : `: ${someOf(clusters.map(shortName), MOST_NAMED)}`
  return `${stopKey(stop)} is stopped in all clusters: ${seen}${where}`
}

export function brakeLines(spec: BrakeSpec | undefined, now: number): readonly string[] {
  if (spec === undefined) return ['no brake: nothing is stopped, and no policy limits how many clusters change at once']
  const { turns = [], stops = [], maxChanging, cluster } = spec
  const changing = turns.map(
    (t) => `${shortName(t.cluster)} (${Date.parse(t.until) > now ? `since ${t.since}` : `ended ${t.until}`})`,
  )
  return [
    ...(cluster === undefined ? [] : [`the copy for ${shortName(cluster)}; kubenode brake lift works on the hub`]),
    maxChanging === undefined
      ? 'turns: no policy limits how many clusters change at once (fleet.maxChanging)'
      : `turns: ${counted(turns.length, 'cluster')} of ${maxChanging}${changing.length === 0 ? '' : `: ${changing.join(', ')}`}`,
    ...(stops.some(isInForce) ? [] : ['stops: none']),
    ...stops.flatMap((stop) =>
      isInForce(stop)
        ? [`${stopText(stop)} (for ${formatDuration(now - Date.parse(stop.since))})`, `  ${liftCommand(stop)}`]
        : [`${stopKey(stop)} was lifted ${formatDuration(now - Date.parse(stop.liftedAt ?? ''))} ago`],
    ),
  ]
}
