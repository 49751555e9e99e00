// The report on a fleet of several clusters: their sum, a line and a section for each, and which of them could not be read. Pure.
import { plus, NO_SECONDS, type StateSeconds } from '#measure/service-level.ts'
import type { KeptDays } from '#measure/kept-days.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Range } from '#history/ask/reader.ts'
import type { ReportFacts } from './facts.ts'
import { countedFaults } from './faults.ts'
import { LEVEL_DIGITS, levelOf, secondsOf } from './pool-report.ts'
import { jobsOf, repairSums, successCell } from './repairs-report.ts'
import { type Cell, count, duration, percent, percentText, type Report, type Section, UNKNOWN, word } from './report.ts'
import { goodSection, reportOf } from './reports.ts'

/** The facts of a cluster, or why it could not be read. */
export type ClusterFacts = ReportFacts | { readonly cluster: string; readonly problem: string }

/** Further clusters have a line only. */
const MOST_SECTIONS = 20

export function fleetReport(found: readonly ClusterFacts[], range: Range): Report {
  const read = found.filter((f): f is ReportFacts => !('problem' in f))
  const sum = sumOf(read, range)
  const names = found.map(({ cluster }) => cluster)
  const away = found.flatMap((f) =>
    'problem' in f ? [`everything of cluster ${f.cluster}, which is in no sum: ${f.problem}`] : [],
  )
  const { sections, unknown, ...report } = reportOf('fleet', sum)
  return {
    ...report,
    cluster: away.length === 0 ? sum.cluster : `${read.length} of ${found.length} clusters`,
    clusters: names,
    sections: [
      ...sections,
      clustersSection(found, sum),
      ...read.slice(0, MOST_SECTIONS).map((facts) => ({ ...goodSection(facts), title: `Cluster ${facts.cluster}` })),
    ],
    unknown: [...away, ...unknown],
  }
}

const COLUMNS = [
  'cluster',
  'machines',
  'good node time',
  'lost to faults',
  'lost to silence',
  'faults',
  'repairs',
  'success',
  'needless',
]

function rowOf(name: string, facts: ReportFacts): readonly Cell[] {
  const seconds = secondsOf(facts)
  const sums = repairSums(jobsOf(facts), facts.jobs)
  return [
    word(name),
    count(facts.machines.length),
    percent(levelOf(facts), LEVEL_DIGITS),
    duration(seconds?.fault),
    duration(seconds?.silent),
    count(countedFaults(facts.faults).length),
    count(sums.all),
    successCell(sums),
    count(sums.needless),
  ]
}

function clustersSection(found: readonly ClusterFacts[], sum: ReportFacts): Section {
  return {
    title: 'Clusters',
    about: 'The sections above are the sum of these clusters.',
    columns: COLUMNS,
    rows: [
      ...found.map((f) =>
        'problem' in f ? [word(f.cluster), ...COLUMNS.slice(1).map(() => UNKNOWN)] : rowOf(f.cluster, f),
      ),
      rowOf('all', sum),
    ],
    chart: {
      form: 'rows',
      title: 'Good node time of each cluster',
      most: 1,
      bars: found.map((f) => {
        const value = 'problem' in f ? undefined : levelOf(f)
        return { label: f.cluster, value, text: value === undefined ? 'unknown' : percentText(value, LEVEL_DIGITS) }
      }),
    },
  }
}

/** Clusters as if they were one. Names that two of them may share are set apart by the cluster. */
function sumOf(clusters: readonly ReportFacts[], { from, to }: Range): ReportFacts {
  const apart = clusters.map(namedApart)
  const releases = clusters.flatMap((c) => c.releases ?? [])
  return {
    cluster: `${clusters.length} clusters`,
    from,
    to,
    parts: clusters,
    machines: apart.flatMap((c) => c.machines),
    nodes: apart.flatMap((c) => c.nodes),
    sets: clusters.flatMap((c) => c.sets),
    jobs: apart.flatMap((c) => c.jobs),
    rules: apart.flatMap((c) => c.rules),
    permits: apart.flatMap((c) => c.permits),
    faults: apart.flatMap((c) => c.faults),
    hasHistory: clusters.every((c) => c.hasHistory),
    // Each cluster names those of the hub.
    releases: clusters.every((c) => c.releases === undefined)
      ? undefined
      : [...new Map(releases.map((r) => [r.metadata.uid ?? `${r.metadata.namespace}/${r.metadata.name}`, r])).values()],
    levels: levelsOf(clusters),
    // A share of the whole is not known while a part is not.
    requested: clusters.some((c) => c.requested === undefined) ? undefined : clusters.flatMap((c) => c.requested ?? []),
    used: clusters.some((c) => c.used === undefined) ? undefined : clusters.flatMap((c) => c.used ?? []),
    unknown: unknownOf(clusters),
  }
}

function namedApart(facts: ReportFacts): ReportFacts {
  const apart = (name: string): string => `${facts.cluster}/${name}`
  const renamed = <T extends KubeObject>(o: T): T => ({
    ...o,
    metadata: { ...o.metadata, name: apart(o.metadata.name ?? '') },
  })
  return {
    ...facts,
    machines: facts.machines.map((m) => {
      const ref = m.status?.nodeRef
      return ref === undefined ? m : { ...m, status: { ...m.status, nodeRef: { ...ref, name: apart(ref.name) } } }
    }),
    nodes: facts.nodes.map(renamed),
    rules: facts.rules.map(renamed),
    permits: facts.permits.map(renamed),
    faults: facts.faults.map((f) => ({ ...f, node: apart(f.node) })),
    jobs: facts.jobs.map(({ spec, status, ...job }) => {
      const permit = status?.permitRef
      return {
        ...job,
        spec: {
          ...spec,
          node: { ...spec.node, name: apart(spec.node.name) },
          remedierRef: { ...spec.remedierRef, name: apart(spec.remedierRef.name) },
        },
        ...(status !== undefined && {
          status: { ...status, ...(permit !== undefined && { permitRef: apart(permit) }) },
        }),
      }
    }),
  }
}

/** Of the clusters that measured; the others are named as unknown. */
function levelsOf(clusters: readonly ReportFacts[]): KeptDays | undefined {
  const all = clusters.flatMap((c) => c.levels ?? [])
  if (all.length === 0) return undefined
  const days = new Map<string, Map<string, StateSeconds>>()
  const nodes = new Map<string, number>()
  for (const levels of all) {
    for (const { day, pools } of levels.days) {
      const sums = days.get(day) ?? new Map<string, StateSeconds>()
      days.set(day, sums)
      for (const [pool, seconds] of pools) sums.set(pool, plus(sums.get(pool) ?? NO_SECONDS, seconds))
    }
    for (const [pool, n] of levels.nodes) nodes.set(pool, (nodes.get(pool) ?? 0) + n)
  }
  return {
    days: [...days].map(([day, pools]) => ({ day, pools })).toSorted((a, b) => a.day.localeCompare(b.day)),
    nodes,
    at: undefined,
  }
}

/** What is unknown of several clusters for one reason is one line. */
function unknownOf(clusters: readonly ReportFacts[]): readonly string[] {
  const texts = [...new Set(clusters.flatMap((c) => c.unknown))]
  return texts.map((text) => {
    const names = clusters.filter((c) => c.unknown.includes(text)).map((c) => c.cluster)
    return names.length === clusters.length ? text : `${names.join(', ')}: ${text}`
  })
}
