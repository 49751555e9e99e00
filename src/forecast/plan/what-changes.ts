// The line of a plan that lists the important changes: versions of components and control planes, and rules. Pure.
import { someOf } from '#lib/some-of.ts'
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { counted } from '#lib/counted.ts'
import { shortened } from '#lib/shortened.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'
import { code, escaped } from './markdown-text.ts'

/** Entries, and names per entry. */
const MOST_SHOWN = 20
const MOST_NAMED = 10
/** Length of a name or version. */
const MOST_CHARS = 100

const RULES: ReadonlySet<string> = new Set([nodeRemedier.kind, defenderPolicy.kind])
const isRule = ({ group, kind }: ObjectChange['ref']): boolean => group === API_GROUP && RULES.has(kind)

/** One line, or empty. */
export function whatChanges(clusters: readonly ClusterDifference[]): string {
  const changes = clusters.flatMap((c) => c.changes)
  const texts = [...new Set([...changes.flatMap(versionTexts), ...ruleTexts(changes)])]
  if (texts.length === 0) return ''
  const more = texts.length > MOST_SHOWN ? ` · and ${texts.length - MOST_SHOWN} more` : ''
  return `**What changes**: ${texts.slice(0, MOST_SHOWN).join(' · ')}${more}`
}

function versionTexts({ ref, fields }: ObjectChange): readonly string[] {
  return fields.flatMap(({ path, before, after }) => {
    const name =
      ref.kind === machineComponentSet.kind
        ? /^spec\.components\[([^\]]+)\](?:\.version)?$/.exec(path)?.[1]
        : ref.kind === clusterKind.kind && path === 'spec.version'
          ? `cluster/${ref.name}`
          : undefined
    return name === undefined ? [] : [`${code(shortened(name, MOST_CHARS))} ${versionIn(before)} → ${versionIn(after)}`]
  })
}

/** A component that joins or leaves a set is a whole entry. */
const versionIn = (value: unknown): string => {
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : value
  return escaped(version === undefined ? 'none' : shortened(String(version), MOST_CHARS))
}

/** Rules with the same change share one entry. */
function ruleTexts(changes: readonly ObjectChange[]): readonly string[] {
  const rules = changes.filter(({ ref }) => isRule(ref))
  const names = Map.groupBy(rules, (rule) => `${escaped(rule.ref.kind)} ${fateOf(rule)}`)
  return [...names].map(([what, of]) => {
    const all = [...new Set(of.map(({ ref }) => ref.name))]
    return `${what}: ${someOf(
      all.map((name) => code(shortened(name, MOST_CHARS))),
      MOST_NAMED,
    )}`
  })
}

function fateOf({ change, fields }: ObjectChange): string {
  const mode = fields.find(({ path }) => path === 'spec.mode')
  return mode === undefined
    ? change
    : `${escaped(String(mode.before ?? 'none'))} → ${escaped(String(mode.after ?? 'none'))}`
}

/** What no inventory can predict: the repairs of a changed rule. Empty if no rule changes. */
export function unpredictedRules(clusters: readonly ClusterDifference[]): string {
  const names = clusters.flatMap((c) =>
    c.changes.filter(({ ref }) => ref.group === API_GROUP && ref.kind === nodeRemedier.kind).map(({ ref }) => ref.name),
  )
  const count = new Set(names).size
  return count === 0
    ? ''
    : `${counted(count, 'rule')} of repairs ${count === 1 ? 'changes' : 'change'}: what is repaired from then on is not predicted`
}
