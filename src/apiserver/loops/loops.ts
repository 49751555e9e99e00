// The loops of a controller manager that a cluster cannot do without, each of which can be left to a real one.
import type { Logger } from '#lib/log.ts'
import type { ServerParts } from '../handlers/context.ts'
import { furnishNamespaces } from './accounts.ts'
import { countBudgets } from './budgets.ts'
import { CertificateSigner } from './certificates.ts'
import { GarbageCollector } from './garbage.ts'
import { startLoop, type Loop, type LoopSpec } from './loop.ts'
import { settleNamespaces } from './namespaces.ts'
import { NodeWatch } from './nodes.ts'
import { prune } from './pruning.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { RBAC, rulesOf } from '../auth/authorizer.ts'
import { selectorMatcher } from '../selectors/label-selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { storeObject } from '../storage/internal-write.ts'

export const LOOPS = [
  'garbage',
  'namespaces',
  'pruning',
  'certificates',
  'nodes',
  'budgets',
  'roles',
  'accounts',
] as const
type LoopName = (typeof LOOPS)[number]
export type LoopChoice = 'all' | 'none' | readonly LoopName[]

/** Whether each namespace gets the account that its pods use without asking. */
export const makesAccounts = (choice: LoopChoice): boolean =>
  choice === 'all' || (choice !== 'none' && choice.includes('accounts'))

const SOON_MS = 50
const MINUTE_MS = 60_000
const SECOND_MS = 1_000

function specOf(name: LoopName, parts: ServerParts, log: Logger): LoopSpec {
  const spec = (
    settleMs: number,
    everyMs: number,
    resources: readonly string[],
    look: (parts: ServerParts) => Promise<number | void>,
  ): LoopSpec => ({
    name,
    settleMs,
    everyMs,
    resources,
    look: () => look(parts),
  })
  switch (name) {
    case 'garbage':
      // woken by deletions and owners of any kind: see startLoops
      return spec(200, 5 * MINUTE_MS, [], lookWith(new GarbageCollector(parts, log)))
    case 'namespaces':
      return spec(SOON_MS, MINUTE_MS, ['/namespaces'], settleNamespaces)
    case 'pruning':
      return spec(MINUTE_MS, MINUTE_MS, [], prune)
    case 'certificates':
      return spec(
        SOON_MS,
        MINUTE_MS,
        ['certificates.k8s.io/certificatesigningrequests'],
        lookWith(new CertificateSigner(parts)),
      )
    case 'nodes':
      return spec(5 * SECOND_MS, 5 * SECOND_MS, [], lookWith(new NodeWatch(parts)))
    case 'budgets':
      return spec(SOON_MS, MINUTE_MS, ['policy/poddisruptionbudgets', '/pods'], countBudgets)
    case 'roles':
      return spec(SOON_MS, MINUTE_MS, ['rbac.authorization.k8s.io/clusterroles'], aggregateRoles)
    case 'accounts':
      return spec(SOON_MS, MINUTE_MS, ['/namespaces', '/serviceaccounts', '/configmaps'], furnishNamespaces)
    default:
      throw new Error(`no loop ${String(name)}`)
  }
}

const lookWith = (loop: { look(): Promise<number | void> }) => () => loop.look()

export interface Loops {
  stop(): Promise<void>
}

export function startLoops(parts: ServerParts, choice: LoopChoice, log: Logger): Loops {
  const names = choice === 'all' ? LOOPS : choice === 'none' ? [] : choice
  const loops = new Map(names.map((name): [LoopName, Loop] => [name, startLoop(parts, log, specOf(name, parts, log))]))
  const garbage = loops.get('garbage')
  const namespaces = loops.get('namespaces')
  const unwatch = parts.store.onChange(({ type, object }) => {
    const meta = object.value.metadata
    const ending = type === 'DELETED' || meta.deletionTimestamp !== undefined
    if (ending || (type === 'ADDED' && meta.ownerReferences !== undefined)) garbage?.wake()
    if (ending && object.namespace !== '') namespaces?.wake()
  })
  return {
    async stop() {
      unwatch()
      await Promise.all([...loops.values()].map((l) => l.stop()))
    },
  }
}

/** Cluster roles with an aggregation rule: their rules are those of the roles that it selects. */
async function aggregateRoles({ store }: ServerParts): Promise<void> {
  const roles = store.collection(`${RBAC}/clusterroles`).snapshot()
  for (const s of roles) {
    const rule = s.value['aggregationRule']
    if (!isObject(rule) || !Array.isArray(rule['clusterRoleSelectors'])) continue
    const matchers = rule['clusterRoleSelectors'].map((c) => selectorMatcher(c as LabelSelector))
    const chosen = roles.filter((r) => r.name !== s.name && matchers.some((m) => m(r.value.metadata.labels)))
    const rules = chosen.flatMap((r) => rulesOf(r.value))
    const unique = rules.filter((r, i) => !rules.slice(0, i).some((b) => jsonEqual(b, r)))
    await storeObject(store, s, (o) =>
      jsonEqual(rulesOf(o), unique) ? o : { ...o, rules: unique.length === 0 ? null : unique },
    )
  }
}
