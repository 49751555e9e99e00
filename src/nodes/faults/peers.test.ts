import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { Node } from '../objects.ts'
import { type NodeView, nodeView } from './node-view.ts'
import { Peers } from './peers.ts'

const view = (n: number, isSilent: boolean, place: { readonly zone?: string; readonly rack?: string }): NodeView =>
  nodeView(
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n${n}`, uid: `u${n}` },
      status: { conditions: [{ type: 'Ready', status: isSilent ? 'Unknown' : 'True' }] },
    } as unknown as Node,
    { metadata: { name: `n${n}` }, spec: { channel: 'Observe', ...place } } as unknown as Machine,
  )

/** Twelve nodes in zone a. The first four are in rack `rack`, the rest in r2. The first `silent` nodes are silent. */
const fleet = (silent: number, rack: string | undefined): readonly NodeView[] =>
  Array.from({ length: 12 }, (_, n) =>
    view(n, n < silent, { zone: 'a', ...(n >= 4 ? { rack: 'r2' } : rack !== undefined && { rack }) }),
  )

test.each([
  ['three of a rack of four', fleet(3, 'r1'), 'rack r1'],
  ['two of a rack: that happens by chance', fleet(2, 'r1'), undefined],
  ['three of four that name no rack: they may be in one', fleet(3, undefined), 'rack (none)'],
  ['four of all', fleet(4, 'r1'), 'cluster'],
])('F20 silent together, so that the network is to blame: %s', (_, views, group) => {
  const [first] = views
  expect(first && new Peers(views).massSilence(first)?.group).toBe(group)
})

test('a peer that reports a condition as Unknown may have it: it counts as unknown until it reports another status', () => {
  const node = (n: number, status: string): NodeView =>
    nodeView(
      {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: `n${n}`, uid: `u${n}` },
        status: {
          conditions: [
            { type: 'Ready', status: 'True' },
            { type: 'X', status },
          ],
        },
      } as unknown as Node,
      undefined,
    )
  const [own, ...others] = [node(0, 'Unknown'), node(1, 'True'), node(2, 'Unknown'), node(3, 'False')]
  const peers = new Peers([own, ...others].flatMap((v) => v ?? []))
  const tally = () => own && (peers.of(own)['cluster'] as Record<string, unknown>)['X']
  expect(tally()).toEqual({ total: 3, count: 1, unknown: 1 })
  peers.put(node(2, 'False'))
  expect(tally()).toEqual({ total: 3, count: 1, unknown: 0 })
})
