// What needs attention in a whole fleet, as text and as data: one sentence, then each cause once, worst first, and what to do first. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { attentionOf, summaryOfAttention } from './attention.ts'
import { type Weight, worstFirst } from './finding.ts'
import { causeData, causeLines, causesOf, type InContext, stepText, TITLES } from './lines.ts'
import { inContext } from '../unblock.ts'
import type { ObservedCluster } from './observed.ts'

const ORDER: readonly Weight[] = ['Act', 'Unknown', 'Wait']

const WITHOUT_HUB = 'their hub is not among them: what its sources and releases wait for is not known here'

/** A commit came from a hub, which is none of these. */
const lacksHub = (clusters: readonly ObservedCluster[]): boolean =>
  clusters.every((c) => isRead(c) && c.list('sources').length === 0 && c.list('releases').length === 0) &&
  clusters.some((c) => [...c.list('sets'), ...c.list('machineSets'), ...c.list('rules')].some(isOfCommit))

/** Whole: a kind that may not be read is a gap, and not absent. */
const isRead = ({ state, gap }: ObservedCluster): boolean => state === 'Connected' && gap === undefined

const isOfCommit = ({ metadata }: KubeObject): boolean => metadata.annotations?.[ANNOTATIONS.commit] !== undefined

export interface AttentionReport {
  readonly lines: readonly string[]
  /** Machine-readable form. */
  readonly data: object
  readonly needsPerson: number
}

export function attentionReport(clusters: readonly ObservedCluster[], now: number): AttentionReport {
  const findings = worstFirst(attentionOf(clusters, now))
  const causes = causesOf(findings)
  const summary = summaryOfAttention(
    causes.map(({ finding }) => finding),
    clusters,
  )
  const ofCluster: InContext = (command, cluster) => (clusters.length > 1 ? inContext(command, cluster) : command)
  const sections = ORDER.flatMap((weight) => {
    const own = causes.filter(({ finding }) => finding.weight === weight)
    return own.length === 0
      ? []
      : ['', `${TITLES[weight]}:`, ...own.flatMap((c) => causeLines(c, now, ofCluster)).map((line) => `  ${line}`)]
  })
  const [step] = causes.flatMap(({ finding }) =>
    finding.weight === 'Act' ? (stepText(finding, finding.object.cluster, ofCluster) ?? []) : [],
  )
  return {
    lines: [
      summary.sentence,
      ...(clusters.length === 0 ? [] : [`clusters: ${clusters.map(({ name }) => name).join(', ')}`]),
      ...(lacksHub(clusters) ? [WITHOUT_HUB] : []),
      ...sections,
      ...(step === undefined ? [] : ['', `what to do first: ${step}`]),
    ],
    data: {
      ...summary,
      clusters: clusters.map(({ name, state, message }) => ({
        name,
        state,
        ...defined({ message }),
      })),
      findings: causes.map(causeData),
    },
    needsPerson: summary.needsPerson,
  }
}
