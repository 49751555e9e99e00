// Readiness of a cluster for an upgrade: budgets that allow no eviction, nodes that are not Ready, and failed reads.
import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { clusterReadiness } from './cluster-readiness.ts'

/** Answers lists by plural and refuses everything else. */
const clientOf = (lists: Readonly<Record<string, readonly object[]>>): KubeClient =>
  ({
    list: ({ plural }: { readonly plural: string }) =>
      lists[plural] === undefined
        ? Promise.reject(new Error(`${plural} is forbidden`))
        : Promise.resolve({ items: lists[plural], metadata: {} }),
  }) as unknown as KubeClient

const NONE = {
  nodes: [],
  poddisruptionbudgets: [],
  validatingwebhookconfigurations: [],
  mutatingwebhookconfigurations: [],
}
const node = (name: string, ready: string, kubeletVersion = 'v1.35.1') => ({
  metadata: { name },
  status: { conditions: [{ type: 'Ready', status: ready }], nodeInfo: { kubeletVersion } },
})
const budget = (name: string, status: object, generation = 1) => ({
  metadata: { namespace: 'shop', name, generation },
  status: { observedGeneration: 1, ...status },
})

test('a budget that lets no pod go blocks; one without pods does not; one that was not counted is not known to be harmless', async () => {
  const poddisruptionbudgets = [
    budget('cart', { disruptionsAllowed: 0, expectedPods: 2 }),
    budget('empty', { disruptionsAllowed: 0, expectedPods: 0 }),
    budget('roomy', { disruptionsAllowed: 1, expectedPods: 3 }),
    budget('edited', { disruptionsAllowed: 1, expectedPods: 3 }, 2),
  ]
  const { blockingBudgets } = await clusterReadiness(clientOf({ ...NONE, poddisruptionbudgets }))
  expect(blockingBudgets).toEqual({ known: true, value: ['shop/cart', 'shop/edited (not counted yet)'] })
})

test('nodes that are not Ready, or not known to be, count; agents that stand in for a kubelet have no version of one', async () => {
  const nodes = [
    node('a', 'True'),
    node('b', 'Unknown'),
    node('c', 'True', 'kubenode-agent/0.1.0'),
    { metadata: { name: 'd' } },
  ]
  const { unreadyNodes, kubelets } = await clusterReadiness(clientOf({ ...NONE, nodes }))
  expect(unreadyNodes).toEqual({ known: true, value: { total: 4, names: ['b', 'd'] } })
  expect(kubelets).toEqual({ known: true, value: { oldest: '', newest: '1.35.1' } })
})

test('what is refused is unknown', async () => {
  const { poddisruptionbudgets: _, ...rest } = NONE
  const { blockingBudgets, unreadyNodes } = await clusterReadiness(clientOf(rest))
  expect(blockingBudgets).toEqual({ known: false, why: 'poddisruptionbudgets is forbidden' })
  expect(unreadyNodes.known).toBe(true)
})

test('without a kubeconfig nothing is known', async () => {
  const all = await clusterReadiness(undefined)
  expect(Object.values(all).some(({ known }) => known)).toBe(false)
})
