// The report on releases: how fast and how safely changes reach the fleet. Pure.
import type { Release } from '#api/kinds/release.ts'
import { hasEnded, isFailed, leadSeconds, restoreSeconds } from '#measure/releases.ts'
import { counted } from '#lib/counted.ts'
import type { ReportFacts } from './facts.ts'
import {
  count,
  duration,
  limited,
  mean,
  named,
  percent,
  percentText,
  type Section,
  share,
  UNKNOWN,
  word,
} from './report.ts'

const DAY_MS = 86_400_000
const SHORT = 8

const releasesOf = ({ releases, from, to }: ReportFacts): readonly Release[] | undefined =>
  releases?.filter(({ metadata }) => {
    const at = Date.parse(metadata.creationTimestamp ?? '')
    return at >= from && at < to
  })

interface Delivery {
  readonly succeeded: number
  readonly judged: number
  readonly failed: number
  readonly failedShare: number | undefined
  readonly leadS: number | undefined
  readonly restoreS: number | undefined
  readonly perDay: number | undefined
}

function deliveryOf(facts: ReportFacts): Delivery | undefined {
  const own = releasesOf(facts)
  if (own === undefined) return undefined
  const succeeded = own.filter((r) => r.status?.phase === 'Succeeded')
  // One that a newer one overtook neither failed nor succeeded.
  const judged = own.filter((r) => hasEnded(r) && (isFailed(r) || r.status?.phase === 'Succeeded'))
  const failed = judged.filter(isFailed).length
  return {
    succeeded: succeeded.length,
    judged: judged.length,
    failed,
    failedShare: share(failed, judged.length),
    leadS: mean(succeeded.flatMap((r) => leadSeconds(r) ?? [])),
    restoreS: mean(succeeded.flatMap((r) => restoreSeconds(r, facts.releases ?? []) ?? [])),
    perDay: share(succeeded.length, (facts.to - facts.from) / DAY_MS),
  }
}

export function deliverySection(facts: ReportFacts): Section {
  const d = deliveryOf(facts)
  return {
    title: 'Delivery',
    kind: 'Release',
    about: 'The four figures of delivery: how often, how fast, how safely, and how soon a failure is mended.',
    columns: ['figure', 'value', 'what it is'],
    rows: [
      [word('releases that succeeded'), count(d?.succeeded), word('in every stage')],
      [
        word('succeeded a day'),
        d?.perDay === undefined ? UNKNOWN : { text: d.perDay.toFixed(2), value: d.perDay },
        word('mean over the time of the report'),
      ],
      [word('lead time'), duration(d?.leadS), word('mean, from the commit to the end of the last stage')],
      [word('failed'), percent(d?.failedShare), word('of those that ended: failed somewhere, or were reverted')],
      [word('time to restore'), duration(d?.restoreS), word('mean, from a failure to the next release that succeeded')],
    ],
  }
}

export function releaseSections(facts: ReportFacts): readonly Section[] {
  const own = (releasesOf(facts) ?? []).toSorted((a, b) =>
    (b.metadata.creationTimestamp ?? '').localeCompare(a.metadata.creationTimestamp ?? ''),
  )
  const columns = ['release', 'track', 'commit', 'phase', 'created', 'lead time', 'subject']
  return [
    deliverySection(facts),
    {
      title: 'Releases',
      kind: 'Release',
      about: 'The newest first.',
      columns,
      rows: limited(
        own.map((r) => {
          const lead = leadSeconds(r)
          return [
            named('Release', r.metadata.name ?? '', r.metadata.namespace),
            word(r.spec.track ?? ''),
            word((r.spec.commit ?? '').slice(0, SHORT)),
            word(r.status?.phase ?? 'New'),
            word(r.metadata.creationTimestamp ?? ''),
            lead === undefined ? word('') : duration(lead),
            word(r.spec.subject ?? ''),
          ]
        }),
        columns.length,
      ),
      chart: {
        form: 'rows',
        title: 'Lead time of the newest releases',
        bars: own.slice(0, 12).flatMap((r) => {
          const value = leadSeconds(r)
          return value === undefined ? [] : [{ label: r.metadata.name ?? '', value, text: duration(value).text }]
        }),
      },
    },
  ]
}

export function releaseHeadline(facts: ReportFacts): { readonly text: string; readonly value: number | null } {
  const d = deliveryOf(facts)
  if (d === undefined) return { text: 'releases are unknown', value: null }
  if (d.failedShare === undefined) return { text: 'no release ended', value: null }
  return {
    text: `${d.judged - d.failed} of ${counted(d.judged, 'release')} succeeded (${percentText(1 - d.failedShare)})`,
    value: 1 - d.failedShare,
  }
}
