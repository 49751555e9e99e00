// Which changes of a condition bring no rule nearer to being true, for a node that no rule could be true for before. Most changes in a fleet are of this kind:
// a detector does not know for a while, or a condition is about something that the rule for it does not ask for.
import { pointerTokens } from '#policy/pointer.ts'
import type { CompiledRule } from '#policy/rule.ts'
import type { Key, RuleIndex } from '#policy/rule-index.ts'
import { needsOf } from './rule-needs.ts'

/** Of a condition of one node, to this status. */
export type IsIdleChange = (type: string, status: unknown) => boolean

/**
 * A rule that could be true for certain statuses of conditions alone needs no look until a condition gets one of them: until then, nothing else that it reads
 * matters. Of every other rule, and of what rules read of peers, each change counts.
 */
export function idleChanges(rules: readonly CompiledRule[], index: RuleIndex): IsIdleChange {
  const wanted = new Map<string, Set<unknown>>()
  const busy = new Set<string>(ALWAYS_READ)
  for (const [position, rule] of rules.entries()) {
    const { conditionTypes, peerTypes } = needsOf(rule)
    const statuses = index.keysOf(position)?.map(statusIn) ?? [undefined]
    const read = [peerTypes, ...(statuses.includes(undefined) ? [conditionTypes] : [])]
    for (const types of read) {
      if (types === undefined) return () => false
      for (const type of types) busy.add(type)
    }
    for (const status of statuses)
      if (status !== undefined) wanted.set(status.type, (wanted.get(status.type) ?? new Set()).add(status.value))
  }
  return (type, status) => !busy.has(type) && wanted.get(type)?.has(status) !== true
}

/** Tells whether the node is silent, and how many are ready. */
const ALWAYS_READ = ['Ready']

function statusIn({ fact, path, value }: Key): { readonly type: string; readonly value: unknown } | undefined {
  const [type, field, ...rest] = pointerTokens(path) ?? []
  return fact !== 'conditions' || type === undefined || field !== 'status' || rest.length > 0
    ? undefined
    : { type, value }
}
