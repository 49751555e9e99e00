// Reads rules, nodes and jobs from the caches and asks the rules. Throws while a cache is incomplete or silent: a controller that cannot see does nothing.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type NodeRemedier, nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient, ListPage } from '#kube/client.ts'
import { type Node, nodeType } from '#nodeops/objects.ts'
import {
  type ActiveRule,
  type ControllerRevision,
  RuleBook,
  controllerRevisionType,
  remedierOf,
} from '#nodeops/rules/active-rule.ts'
import { type NodeView, nodeUidOf, nodeView } from '#nodeops/rules/node-view.ts'
import { Peers } from '#nodeops/rules/peers.ts'
import { judge } from '#nodeops/rules/since.ts'
import { evaluate } from '#policy/evaluate.ts'
import { MAX_RULES } from '#policy/limits.ts'
import type { CompiledRule, Term } from '#policy/rule.ts'
import { type Ruleset, createRuleset } from '#policy/ruleset.ts'
import { NOW } from '#policy/vocabulary.ts'
import { type Informers, type SharedInformer, requireFresh } from '#runtime/informers.ts'
import type { NodeSeen, Seen } from './seen.ts'

export interface RemedyCaches {
  readonly remediers: SharedInformer<NodeRemedier>
  readonly revisions: SharedInformer<ControllerRevision>
  readonly nodes: SharedInformer<Node>
  readonly machines: SharedInformer<Machine>
  readonly jobs: SharedInformer<RemedyOperationJob>
  readonly holds: SharedInformer<OperationalHold>
}

const BY_NODE = 'remedy/node'

export const cachesOf = (informers: Informers): RemedyCaches => ({
  remediers: informers.of(nodeRemedier),
  revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
  nodes: informers.of(nodeType),
  machines: informers.of(machineType, { indexes: { [BY_NODE]: nodeUidOf } }),
  jobs: informers.of(remedyOperationJob),
  holds: informers.of(operationalHold),
})

/** What is remembered between looks; all of it can be made again from the caches. */
export class Observer {
  readonly #caches: RemedyCaches
  readonly #book = new RuleBook()
  readonly #views = new WeakMap<Node, NodeView>()
  /** When a rule without a recorded time was first seen true: node UID and rule → milliseconds. */
  readonly #firstSeen = new Map<string, number>()
  #set: { readonly rules: readonly CompiledRule[]; readonly ruleset: Ruleset } | undefined

  constructor(caches: RemedyCaches) {
    this.#caches = caches
  }

  /** `jobs` are those of the server, where they were read; the caches' otherwise. */
  async observe(now: number, jobs?: readonly RemedyOperationJob[]): Promise<Seen> {
    const { remediers, revisions, nodes, machines, jobs: cached, holds } = this.#caches
    requireFresh([remediers, revisions, nodes, machines, cached, holds])
    const kept = Map.groupBy(
      revisions.list().filter((r) => remedierOf(r) !== ''),
      remedierOf,
    )
    const rules = remediers
      .list()
      .filter((r) => r.metadata.deletionTimestamp === undefined)
      .map((r) => this.#book.read(r, kept.get(r.metadata.name ?? '') ?? []))
    const active = rules
      .flatMap((r) => r.active ?? [])
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, MAX_RULES)
    const views = nodes.list().map((node) => this.#view(node, machines.byIndex(BY_NODE, node.metadata.uid ?? '')))
    const compiled = active.map((a) => a.rule)
    const peers = compiled.some((r) => mentions(r.root, 'peers')) ? new Peers(views) : undefined
    const ruleset = this.#ruleset(compiled)
    const recorded = recordedTimes(rules.map((r) => r.remedier))
    const seenNow = new Set<string>()
    const asked: NodeSeen[] = []
    for (const view of views) {
      const matches = new Map<string, number>()
      if (view.standing.kind === 'Readable')
        for (const [rule, since] of await this.#ask(view, { ruleset, active, peers, now })) {
          const key = `${view.uid}\n${rule}`
          const first = Math.min(this.#firstSeen.get(key) ?? now, recorded.get(`${view.name}\n${rule}`) ?? now)
          this.#firstSeen.set(key, first)
          seenNow.add(key)
          matches.set(
            rule,
            since.isDated && since.since !== undefined ? since.since : Math.max(since.since ?? 0, first),
          )
        }
      asked.push({
        name: view.name,
        uid: view.uid,
        machine: view.machine?.metadata.name,
        labels: view.node.metadata.labels,
        standing: view.standing,
        matches,
      })
    }
    for (const key of this.#firstSeen.keys()) if (!seenNow.has(key)) this.#firstSeen.delete(key)
    return {
      rules,
      revisions: revisions.list(),
      nodes: asked,
      jobs: jobs ?? cached.list(),
      holds: holds.list(),
      isTimed: compiled.some((r) => isTimed(r.root)),
    }
  }

  #view(node: Node, machines: readonly Machine[]): NodeView {
    const [machine] = machines.toSorted((a, b) => (String(a.metadata.name) < String(b.metadata.name) ? -1 : 1))
    const known = this.#views.get(node)
    if (known !== undefined && known.machine === machine) return known
    const view = nodeView(node, machine)
    this.#views.set(node, view)
    return view
  }

  #ruleset(rules: readonly CompiledRule[]): Ruleset {
    const known = this.#set
    if (known?.rules.length === rules.length && known.rules.every((r, i) => r === rules[i])) return known.ruleset
    const ruleset = createRuleset(rules)
    this.#set = { rules, ruleset }
    return ruleset
  }

  async #ask(
    view: NodeView,
    {
      ruleset,
      active,
      peers,
      now,
    }: {
      readonly ruleset: Ruleset
      readonly active: readonly ActiveRule[]
      readonly peers: Peers | undefined
      readonly now: number
    },
  ) {
    const facts = peers === undefined ? view.facts : { ...view.facts, peers: peers.of(view) }
    const { fired } = await evaluate(ruleset, facts, now)
    const names = new Set(fired)
    return active
      .filter((a) => names.has(a.name) && a.selects(view.node.metadata.labels))
      .map((a) => [a.name, judge(a.rule.root, facts, now)] as const)
  }
}

/** Node and rule → since when, as the statuses of the rules have it. */
function recordedTimes(remediers: readonly NodeRemedier[]): ReadonlyMap<string, number> {
  return new Map(
    remediers.flatMap((r) =>
      (r.status?.matching ?? []).flatMap(({ node, since }) => {
        const ms = Date.parse(since)
        return Number.isNaN(ms) ? [] : [[`${node}\n${r.metadata.name}`, ms] as const]
      }),
    ),
  )
}

function mentions(term: Term, fact: string): boolean {
  if (term.kind === 'not') return mentions(term.child, fact)
  if (term.kind !== 'leaf') return term.children.some((c) => mentions(c, fact))
  return term.place.fact === fact || (term.against.kind === 'fact' && term.against.place.fact === fact)
}

function isTimed(term: Term): boolean {
  if (term.kind === 'not') return isTimed(term.child)
  if (term.kind !== 'leaf') return term.children.some(isTimed)
  return term.place.readAs === 'age' || term.place.fact === NOW
}

/** Jobs a page. */
const PAGE = 500

/** Every job as the server has it now: limits over all of them bear no cache that lags behind. */
export async function freshJobs(client: KubeClient, signal: AbortSignal): Promise<readonly RemedyOperationJob[]> {
  const jobs: RemedyOperationJob[] = []
  for (let next: string | undefined = ''; next !== undefined;) {
    const page: ListPage<RemedyOperationJob> = await client.list(remedyOperationJob, {
      limit: PAGE,
      signal,
      ...(next !== '' && { continue: next }),
    })
    jobs.push(...page.items)
    next = page.continue
  }
  return jobs
}
