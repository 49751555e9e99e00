// An edited or deleted policy permits nothing extra before it is restored.
import { holdOn } from '#test/support/fleets/holds.ts'
import { expect, test } from 'vitest'
import { defenderPolicy, type DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { type CommittedContent, contentOf, keptContent } from '#api/protocol/committed.ts'
import { CommittedContents, type ContentCaches } from '#declared/committed.ts'
import type { Caches } from './caches.ts'
import { PolicyBook } from './policy-book.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
type Spec = DefenderPolicy['spec']
const strict: Spec = {
  ...(defenderPolicy.example.spec as Spec),
  budgets: [{ max: 1, of: 'concurrent', per: 'cluster' }],
}
const loose: Spec = { ...strict, budgets: [{ max: 1_000, of: 'concurrent', per: 'cluster' }] }

const policy = (spec: Spec, kept: object | undefined = strict): DefenderPolicy => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'DefenderPolicy',
  metadata: {
    name: 'careful',
    uid: 'u',
    generation: 1,
    ...(kept && {
      annotations: { [ANNOTATIONS.committed]: keptContent({ kind: 'DefenderPolicy', spec: kept }) ?? '' },
    }),
  },
  spec,
})

function world(committed: readonly CommittedContent[] | undefined) {
  const ref = { group: 'kubenode.io', kind: 'DefenderPolicy', namespace: '', name: 'careful' }
  const state = {
    policies: [] as DefenderPolicy[],
    inventories: [{ spec: { refs: [{ ...ref, ...defined({ committed }) }] } }] as unknown[],
    holds: [] as OperationalHold[],
  }
  const told: (() => void)[] = []
  const cache = (list: () => readonly unknown[]) => ({ list, onChange: (f: () => void) => void told.push(f) })
  const caches = {
    inventories: cache(() => state.inventories),
    holds: cache(() => state.holds),
    policies: cache(() => state.policies),
  }
  const book = new PolicyBook(
    caches as unknown as Pick<Caches, 'policies'>,
    new CommittedContents(caches as unknown as ContentCaches),
  )
  const inForce = (policies: readonly DefenderPolicy[]) => {
    state.policies = [...policies]
    return book.inForce(NOW)
  }
  return { inForce, state, change: () => told.forEach((f) => f()) }
}
const declared = contentOf({ kind: 'DefenderPolicy', spec: strict })
const DECLARED = declared === undefined ? [] : [declared]
const budgets = (of: ReturnType<PolicyBook['inForce']>) => of.map((p) => p.broken ?? p.spec.budgets?.[0]?.max)

test('an edited policy stays as git declares it, from the first look of a new Defender on', () => {
  const { inForce } = world(DECLARED)
  const edited = policy(loose)
  expect(budgets(inForce([edited]))).toEqual([1])
  expect(inForce([edited])[0]).toBe(inForce([edited])[0])
  expect(inForce([edited])[0]?.edit?.name).toBe('careful')
  expect(inForce([policy(strict)])[0]?.edit).toBeUndefined()
})

test('an edited policy whose declaration is unknown lets nothing pass', () => {
  const [found] = world(DECLARED).inForce([policy(loose, {})])
  expect(found?.broken).toMatch(/differs from git.*kubenode put-back policy\/careful/)
  expect(found?.decides(['Reboot'])).toBe(true)
})

test('a deleted policy stays in force as it was last seen, and blocks for a Defender that has not seen it', () => {
  const { inForce } = world(DECLARED)
  expect(inForce([])[0]?.broken).toMatch(/was deleted in the cluster/)
  expect(budgets(inForce([policy(strict)]))).toEqual([1])
  expect(budgets(inForce([]))).toEqual([1])
})

test('a policy that git no longer declares is gone with its deletion, and one that it never declared acts as it is', () => {
  const { inForce, state, change } = world(DECLARED)
  inForce([policy(strict)])
  state.inventories = []
  change()
  expect(inForce([])).toEqual([])
  // Sync's note on it still counts if every Inventory was deleted. Without a note, git never declared it.
  expect(budgets(inForce([policy(loose)]))).toEqual([1])
  const own = policy(loose)
  const { annotations: _, ...metadata } = own.metadata
  expect(budgets(inForce([{ ...own, metadata }]))).toEqual([1_000])
  expect(budgets(world(undefined).inForce([policy(loose)]))).toEqual([1_000])
})

test('a hold lets a policy stay deleted for a while', () => {
  const { inForce, state } = world(DECLARED)
  state.holds.push(
    holdOn('DefenderPolicy', 'careful', { effect: 'AllowEdit', to: 'deleted', until: '2026-01-31T13:00:00Z' }),
  )
  expect(inForce([])).toEqual([])
})
