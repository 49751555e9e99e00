// Home: the attention model's findings in the page's format. Pure.
import { attentionOf, summaryOfAttention } from '#explain/attention/attention.ts'
import type { FleetFinding } from '#explain/attention/finding.ts'
import { URGENCIES } from '#explain/finding.ts'
import { causeKey, worstFirst } from '../../cause-key.ts'
import type { AttentionRow, HomeHead } from '../../topics.ts'
import { given, liftOf, pageText } from './parts.ts'
import { isLoading, observed, type ReadableCluster } from './programs.ts'

export interface Home {
  readonly head: HomeHead
  readonly rows: readonly AttentionRow[]
}

export function homeOf(clusters: readonly ReadableCluster[], now: number): Home {
  const seen = clusters.map(observed)
  const findings = attentionOf(seen, now).map(ranked)
  const loading = clusters.filter(isLoading).length
  const { sentence, needsPerson, waits, unknown } = summaryOfAttention(asCards(findings), seen, loading)
  const machines = clusters.filter((c) => c.topics.has('machines')).flatMap((c) => c.state.list('machines'))
  // The cache may not have noticed yet that an API server stopped answering.
  const connected = clusters.filter((c) => c.state.state === 'Connected' && c.isUnknown !== true).length
  return {
    head: {
      sentence: pageText(sentence),
      needsAttention: needsPerson,
      waits,
      unknown,
      clusters: { total: clusters.length, connected },
      machines: { total: machines.length, ready: machines.filter((m) => m.state.isReady).length },
    },
    rows: findings.map(rowOf),
  }
}

/** As the page shows them: in its order, and what one cause stops once, so that its first line counts the cards below it. */
function asCards(findings: readonly Ranked[]): readonly FleetFinding[] {
  const shown = new Set<string>()
  return findings.toSorted(worstFirst).filter((finding) => {
    const cause = causeKey(finding)
    if (finding.weight !== 'Act') return true
    if (shown.has(cause)) return false
    shown.add(cause)
    return true
  })
}

type Ranked = FleetFinding & Pick<AttentionRow, 'rank'>

const ranked = (finding: FleetFinding): Ranked => ({ ...finding, rank: URGENCIES.indexOf(finding.urgency) })

const rowOf = (finding: Ranked): AttentionRow => {
  const { id, cause, object, weight, rank, text, since, runbook, holdsUp, title, commit, stops } = finding
  return {
    id,
    cause,
    object,
    weight,
    rank,
    text: pageText(text),
    ...given('since', since),
    ...liftOf(finding),
    ...given('runbook', runbook),
    ...given('holdsUp', holdsUp?.map(pageText)),
    ...given('title', title),
    ...given('commit', commit),
    ...given('stops', stops),
  }
}

/** Number of findings per cluster, for its row. */
export function attentionByCluster(
  clusters: readonly ReadableCluster[],
  now: number,
): ReadonlyMap<string, ClusterAttention> {
  const byCluster = Map.groupBy(attentionOf(clusters.map(observed), now), ({ object }) => object.cluster)
  return new Map(
    clusters.map((cluster) => {
      const own = byCluster.get(cluster.state.name) ?? []
      const count = (weight: AttentionRow['weight']): number => own.filter((f) => f.weight === weight).length
      const unknown = count('Unknown') + (isLoading(cluster) ? 1 : 0)
      return [cluster.state.name, { act: count('Act'), wait: count('Wait'), unknown }] as const
    }),
  )
}

export interface ClusterAttention {
  readonly act: number
  readonly wait: number
  readonly unknown: number
}
