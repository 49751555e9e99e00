import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import type { Node, Taint } from '#nodes/objects.ts'
import { describe, expect, test } from 'vitest'
import { handedBackNode, syncedNode } from './sync.ts'

const machine = (spec: object): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm-1' },
  spec: { channel: 'Agent', ...spec },
})
const node = (
  labels: Record<string, string>,
  taints: readonly Taint[] = [],
  annotations: Record<string, string> = {},
): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'm-1', labels, annotations },
  spec: { taints },
})
const owned = (labels: readonly string[], taints: readonly string[] = [], annotations: readonly string[] = []) => ({
  [ANNOTATIONS.owned]: JSON.stringify({ labels, annotations, taints }),
})
const NOW = Date.UTC(2026, 0, 5)
const pending: Taint = { key: TAINTS.componentsPending, effect: 'NoSchedule' }
const cordon: Taint = { key: TAINTS.cordon, effect: 'NoSchedule' }
const dedicated: Taint = { key: 'example.org/dedicated', value: 'batch', effect: 'NoSchedule' }

const after = (n: Node, spec: object, areComponentsIn = false) => {
  const mutation = syncedNode(n, { machine: machine(spec), areComponentsIn })
  const result = mutation.kind === 'Write' ? mutation.object : n
  expect(syncedNode(result, { machine: machine(spec), areComponentsIn })).toEqual({ kind: 'Keep' })
  return {
    kind: mutation.kind,
    labels: result.metadata.labels,
    taints: result.spec?.taints,
    annotations: result.metadata.annotations,
  }
}

describe('the Node of a machine', () => {
  test('gets the labels and taints of its Machine, and keeps those of others', () => {
    expect(after(node({ arch: 'amd64' }, [cordon]), { pool: 'w', labels: { a: '1' }, taints: [dedicated] })).toEqual({
      kind: 'Write',
      labels: { arch: 'amd64', 'kubenode.io/pool': 'w', a: '1' },
      taints: [cordon, dedicated],
      annotations: owned(['a', 'kubenode.io/pool'], ['example.org/dedicated:NoSchedule']),
    })
  })

  test('loses what the Machine does not declare any more, and nothing else', () => {
    const before = node(
      { arch: 'amd64', a: '1' },
      [dedicated, cordon],
      owned(['a'], ['example.org/dedicated:NoSchedule']),
    )
    expect(after(before, {})).toEqual({ kind: 'Write', labels: { arch: 'amd64' }, taints: [cordon], annotations: {} })
  })

  test('loses the startup taint when its components are in, and not before', () => {
    expect(after(node({}, [pending]), {}).taints).toEqual([pending])
    expect(after(node({}, [pending]), {}, true).taints).toEqual([])
  })

  test('keeps everything when what is owned cannot be read', () => {
    const before = node({ a: '1' }, [dedicated], { [ANNOTATIONS.owned]: '{"labels":' })
    expect(after(before, {})).toMatchObject({ labels: { a: '1' }, taints: [dedicated] })
  })

  test('a Machine cannot declare taints with a life of their own', () => {
    expect(after(node({}), { taints: [cordon, pending] })).toMatchObject({ kind: 'Keep', taints: [] })
  })

  test('carries declared annotations, but none of those with a meaning of ours', () => {
    const spec = { annotations: { 'example.org/x': '1', [ANNOTATIONS.cordon]: '{}', [ANNOTATIONS.owned]: 'x' } }
    const now = after(node({}, [], { theirs: 'kept' }), spec)
    expect(now.annotations).toEqual({ theirs: 'kept', 'example.org/x': '1', ...owned([], [], ['example.org/x']) })
    expect(after(node({}, [], now.annotations), {}).annotations).toEqual({ theirs: 'kept' })
  })

  test('what was there before a Machine declared the very same stays when the wish goes', () => {
    const before = node({ a: '1', b: '1' }, [dedicated], { 'example.org/x': '1' })
    const spec = { labels: { a: '1', b: '2' }, taints: [dedicated], annotations: { 'example.org/x': '1' } }
    const now = after(before, spec)
    expect(now.annotations).toEqual({ 'example.org/x': '1', ...owned(['b']) })
    expect(after(node(now.labels ?? {}, now.taints, now.annotations), {})).toEqual({
      kind: 'Write',
      labels: { a: '1' },
      taints: [dedicated],
      annotations: { 'example.org/x': '1' },
    })
  })

  test('is handed back without anything of ours, the startup taint included', () => {
    const taken = node(
      { a: '1', arch: 'x' },
      [pending, dedicated, cordon],
      owned(['a'], ['example.org/dedicated:NoSchedule']),
    )
    const mutation = handedBackNode(taken, NOW)
    expect(mutation).toMatchObject({
      kind: 'Write',
      object: { metadata: { labels: { arch: 'x' }, annotations: {} }, spec: { taints: [cordon] } },
    })
    expect(mutation.kind === 'Write' && handedBackNode(mutation.object, NOW)).toEqual({ kind: 'Keep' })
  })

  test.each([
    ['of a removal or a switch goes with its taint', ['machine/delete', 'machine/switch/kubelet'], []],
    ['of a repair stays for its job to end', ['machine/delete', 'remedy/x'], ['remedy/x']],
  ])('a cordon %s when it is handed back', (_, owners, left) => {
    const claims = (names: readonly string[]) => Object.fromEntries(names.map((n) => [n, { reason: 'x' }]))
    const annotations = { [ANNOTATIONS.cordon]: JSON.stringify(claims(owners)) }
    const mutation = handedBackNode(node({}, [dedicated, cordon], annotations), NOW)
    expect(mutation).toMatchObject({
      kind: 'Write',
      object: {
        metadata: { annotations: left.length === 0 ? {} : { [ANNOTATIONS.cordon]: JSON.stringify(claims(left)) } },
        spec: { taints: left.length === 0 ? [dedicated] : [dedicated, cordon] },
      },
    })
  })

  test('a declared label wins over one that was there', () => {
    expect(after(node({ a: 'old' }), { labels: { a: 'new' } }).labels).toEqual({ a: 'new' })
  })
})
