import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import { type Targets } from '#delivery/desired.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import type { RenderedProblem } from '#sync/render/problems.ts'
import { INVENTORY_FORM, type Inventory } from './inventory.ts'
import { withServedProviders } from './served-providers.ts'
import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'

const set = (provider: string) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineSet',
  metadata: { name: 'workers' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: 'b' } },
    template: { metadata: { labels: { a: 'b' } }, spec: { provider: { name: provider } } },
  },
})
const inventory = (cluster: string, providers?: readonly string[]): Inventory => ({
  form: INVENTORY_FORM,
  cluster,
  takenAt: '2026-11-25T12:00:00Z',
  machines: [],
  nodes: [],
  machineSets: [],
  sets: [],
  components: [],
  revisions: [],
  permits: [],
  holds: [],
  approvals: [],
  policies: [],
  fullBudgets: [],
  ...defined({ providers }),
})

/** The set is in clusters test and prod. */
function said(
  provider: string,
  inventories: readonly Inventory[],
  { listed, stale = [] }: { readonly listed?: readonly string[]; readonly stale?: readonly string[] } = {},
) {
  const object = set(provider)
  const target = { objects: [{ ref: refOf(object), object, digest: sha256OfJson(object) }], rejected: [] }
  const after: Targets = new Map(['test', 'prod'].map((cluster) => [cluster, target]))
  const rendered = declaredProblems([object], { providers: listed && new Set(listed) })
    .filter((p) => p.pointer.endsWith('/provider/name'))
    .map(({ pointer, code, message, isCertain }): RenderedProblem => {
      return { clusters: ['test', 'prod'], object: refText(refOf(object)), pointer, code, message, isCertain }
    })
  return withServedProviders(rendered, { after, inventories, stale: new Set(stale) }).map(
    ({ code, clusters, isCertain }) => [code, clusters.join(), isCertain],
  )
}

test('a provider that the controllers of a cluster do not serve is refused there, and doubted where it is not known', () => {
  expect(said('proces', [])).toEqual([['KN3076', 'test,prod', false]])
  expect(said('proces', [inventory('prod')])).toEqual([['KN3076', 'test,prod', false]])
  expect(said('proces', [inventory('prod', ['process', 'static'])])).toEqual([
    ['KN1451', 'prod', true],
    ['KN3076', 'test', false],
  ])
})

test('a provider of your own that the controllers serve is not doubted, and one of KubeNode that they do not serve is refused', () => {
  expect(said('own', [inventory('test', ['own']), inventory('prod', ['own'])])).toEqual([])
  expect(said('aws', [inventory('prod', ['static'])])).toEqual([['KN1451', 'prod', true]])
})

test('an inventory that is too old refuses nothing, and what the file of the fleet refuses is reported once', () => {
  expect(said('aws', [inventory('prod', ['static'])], { stale: ['prod'] })).toEqual([['KN1451', 'prod', false]])
  expect(said('proces', [inventory('prod', ['static'])], { listed: ['static'] })).toEqual([
    ['KN3075', 'test,prod', true],
  ])
})
