// Evaluates a folder's rules on a Node from a file: which are true, since when, and what would be done. Pure except for reading files.
import { resolve } from 'node:path'
import type { Machine } from '#api/kinds/machine.ts'
import { readBoundedText } from '#lib/bounded-file.ts'
import { defined } from '#lib/defined.ts'
import { parseDocuments } from '#lib/documents.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { isObject } from '#lib/json.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import type { Node } from '#nodes/objects.ts'
import { type NodeView, isAskable, nodeView } from '#nodes/faults/node-view.ts'
import { Peers } from '#nodes/faults/peers.ts'
import { judge } from '#nodes/faults/since.ts'
import { type Explanation, explainTerm, renderExplanation } from '#policy/explanation.ts'
import { pointerTokens } from '#policy/pointer.ts'
import type { Verdict } from '#policy/verdict.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { RuleFile } from './rule-files.ts'
import { rulesErrors } from './rules-errors.ts'

export interface Simulated {
  readonly node: string
  readonly rule: string
  readonly verdict: Verdict
  readonly since?: string
  /** The action that would follow. */
  readonly would: string
  readonly explanation: string
  /** The first missing or unusable input, if it makes the verdict unknown. */
  readonly missing?: string
}

/** Nodes and Machines from a file: one document, several, or a List. */
export function readViews(file: string, cwd: string): readonly NodeView[] {
  const { documents, problems } = parseDocuments(readText(file, cwd))
  const [problem] = problems
  if (problem !== undefined)
    throw new KubeNodeError(rulesErrors.KN1014_line({ file, line: problem.line, why: problem.message }))
  const objects = documents.flatMap(({ value }) => itemsOf(value)).filter(isObject)
  const ofKind = (kind: string) => objects.filter((o) => o['kind'] === kind).map((o) => shaped(o, file))
  const nodes: readonly Node[] = ofKind('Node')
  const machines = ofKind('Machine') as unknown as readonly Machine[]
  if (nodes.length === 0) throw new KubeNodeError(rulesErrors.KN1345({ file }))
  return nodes.map((node) =>
    nodeView(
      node,
      machines.find((m) => m.status?.nodeRef?.name === node.metadata.name || m.metadata.name === node.metadata.name),
    ),
  )
}

/** Room for a large cluster's node list. */
const MAX_BYTES = 96 * 1024 * 1024

function readText(file: string, cwd: string): string {
  try {
    return readBoundedText(resolve(cwd, file), MAX_BYTES)
  } catch (cause) {
    throw new KubeNodeError(rulesErrors.KN1345_unreadable({ file, why: systemTrouble(cause) }), {
      cause,
    })
  }
}

/** Possibly hand-written, so check at least its shape. */
function shaped(object: Record<string, unknown>, file: string): KubeObject {
  const { kind, apiVersion, metadata, spec = {}, status = {} } = object
  const name = isObject(metadata) ? metadata['name'] : undefined
  const bad = (what: string): never => {
    throw new KubeNodeError(
      rulesErrors.KN1345_object({
        file,
        kind: String(kind),
        detail: typeof name === 'string' ? name : 'without a name',
        what,
        resource: String(kind).toLowerCase(),
      }),
    )
  }
  if (!isObject(metadata) || typeof name !== 'string' || name === '') return bad('metadata.name is missing')
  if (!isObject(spec) || !isObject(status)) return bad('spec and status must be objects')
  const { conditions = [], components = [] } = status
  if (!isListOf(conditions, 'type')) return bad('status.conditions is not a list of conditions, each with a type')
  if (!isListOf(components, 'name')) return bad('status.components is not a list of components, each with a name')
  return {
    ...object,
    kind: String(kind),
    apiVersion: String(apiVersion),
    metadata: { ...metadata, name },
    spec,
    status,
  }
}

const isListOf = (list: unknown, key: string): boolean =>
  Array.isArray(list) && list.every((item) => isObject(item) && typeof item[key] === 'string')

const itemsOf = (value: unknown): readonly unknown[] =>
  isObject(value) && Array.isArray(value['items']) ? value['items'] : [value]

export function simulate(views: readonly NodeView[], rules: readonly RuleFile[], now: number): readonly Simulated[] {
  const peers = new Peers(views)
  return views.flatMap((view) => rules.flatMap((rule) => simulateOne(view, rule, peers, now) ?? []))
}

/** `condition KernelDeadlock is not reported`, or the path of another fact. */
function firstUnknown(tree: Explanation): string | undefined {
  if (tree.kind !== 'leaf') return tree.children.map(firstUnknown).find((text) => text !== undefined)
  if (tree.verdict !== 'unknown') return undefined
  const [first = ''] = pointerTokens(tree.path) ?? []
  return tree.fact === 'conditions' && tree.seen === undefined
    ? `condition ${first} is not reported`
    : `${tree.fact}${tree.path}: ${tree.because ?? 'cannot be used'}`
}

function simulateOne(
  view: NodeView,
  { name, spec, compiled }: RuleFile,
  peers: Peers,
  now: number,
): Simulated | undefined {
  if (spec === undefined || compiled === undefined) return undefined
  // A file has no repair history: treat the node as never repaired.
  const facts = { ...view.facts, peers: peers.of(view), cluster: peers.cluster(), repairs: { lastDay: 0 } }
  const { since } = judge(compiled.root, facts, now)
  const tree = explainTerm(compiled.root, facts, now)
  const isSelected =
    spec.nodeSelector === undefined || matchesSelector(selectorOf(spec.nodeSelector), view.node.metadata.labels)
  const entry = { node: view.name, rule: name, explanation: renderExplanation(tree) }
  if (!isSelected) return { ...entry, verdict: 'false', would: 'nothing: the rule does not select the node' }
  if (!isAskable(view, compiled) && view.standing.kind !== 'Readable')
    return { ...entry, verdict: 'unknown', would: `nothing: ${view.standing.why}` }
  if (tree.verdict !== 'true') {
    const missing = tree.verdict === 'unknown' ? firstUnknown(tree) : undefined
    return { ...entry, verdict: tree.verdict, would: 'nothing', ...defined({ missing }) }
  }
  const holdDown = parseDuration(spec.for) - (now - (since ?? now))
  const steps = spec.ladder[0]?.operations.map((o) => Object.keys(o)[0] ?? '').join(', ')
  const when = holdDown > 0 ? `in ${formatDuration(holdDown)}` : 'now'
  const would =
    spec.mode === 'Enforce'
      ? `begin rung 0 (${steps}) ${when}`
      : `nothing, it is in mode ${spec.mode}; it would begin rung 0 (${steps}) ${when}`
  return { ...entry, verdict: 'true', would, ...(since !== undefined && { since: new Date(since).toISOString() }) }
}
