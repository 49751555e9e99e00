// Which faults there were: conditions that turned bad. From the nodes as they are, or from a recorded history. Pure.
import { COMPONENT_UNHEALTHY, componentConditionType } from '#api/node-conditions.ts'
import { fieldsOf } from '#lib/fields.ts'
import type { Steps } from '#lib/steps.ts'
import type { Node } from '#nodes/objects.ts'
import type { Transition } from '#history/ask/reader.ts'
import { isProblem } from '../attention/observed.ts'
import type { Fault } from './facts.ts'

/** Those that last, and began in this time. */
export function presentFaults(nodes: readonly Node[], from: number): readonly Fault[] {
  return nodes.flatMap(({ metadata, status }) =>
    (status?.conditions ?? []).flatMap(({ type, status: value, lastTransitionTime }) => {
      const at = Date.parse(lastTransitionTime ?? '')
      return isProblem({ type, status: value }) && at >= from
        ? [{ kind: faultKind(type), node: metadata.name ?? '', at, ended: undefined }]
        : []
    }),
  )
}

/** Without the sum over all components of a node, where a component at fault is named beside it: it is the same fault. */
export function countedFaults(faults: readonly Fault[]): readonly Fault[] {
  const parts = Map.groupBy(
    faults.filter(({ kind }) => kind.startsWith(componentConditionType(''))),
    ({ node }) => node,
  )
  const end = ({ ended = Infinity }: Fault): number => ended
  const isNamed = (sum: Fault): boolean =>
    parts.get(sum.node)?.some((part) => part.at <= end(sum) && sum.at <= end(part)) === true
  return faults.filter((fault) => fault.kind !== COMPONENT_UNHEALTHY || !isNamed(fault))
}

/** How reports call a condition that turned bad. */
export const faultKind = (type: string): string => (type === 'Ready' ? 'NotReady' : type)
const CONDITION = /^status\/conditions\/([^/]+)$/

/** In the order in which they began. Rows are those of the time of the report, page by page. */
export function* recordedFaults(
  pages: Iterable<readonly Transition[]>,
  from: number,
  check: (count: number) => void = () => undefined,
): Steps<readonly Fault[]> {
  const open = new Map<string, { readonly fault: Fault; readonly isOfRange: boolean }>()
  const ended: Fault[] = []
  for (const page of pages) {
    for (const { subject, topic, value, observed, reported } of page) {
      const type = subject.kind === 'Node' ? CONDITION.exec(topic)?.[1] : undefined
      if (type === undefined) continue
      const key = `${subject.id} ${type}`
      const before = open.get(key)
      const isNowBad = value !== undefined && isProblem({ type, status: String(fieldsOf(JSON.parse(value))['status']) })
      const at = reported ?? observed
      if (isNowBad && before === undefined)
        open.set(key, {
          fault: { kind: faultKind(type), node: subject.name, at, ended: undefined },
          isOfRange: at >= from,
        })
      if (!isNowBad && before !== undefined) {
        open.delete(key)
        if (before.isOfRange) ended.push({ ...before.fault, ended: at })
      }
    }
    check(open.size + ended.length)
    yield
  }
  const lasting = [...open.values()].flatMap(({ fault, isOfRange }) => (isOfRange ? [fault] : []))
  return [...ended, ...lasting].toSorted((a, b) => a.at - b.at)
}
