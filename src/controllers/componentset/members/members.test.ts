import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Node } from '#nodes/objects.ts'
import { ReadingMemo, readMembers } from './members.ts'

const set = {
  metadata: { name: 'base' },
  spec: { selector: { matchLabels: { pool: 'a' } }, components: [{ name: 'beacon', version: '1.0.0' }], priority: 0 },
} as unknown as MachineComponentSet
const indexOf = new Map([['beacon', 0]])

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f']
const change = fc.record({
  name: fc.constantFrom(...NAMES),
  what: fc.constantFrom('machine', 'leaves', 'goes', 'node', 'node goes', 'nothing'),
  version: fc.constantFrom('1.0.0', '1.1.0'),
})

const machineOf = (name: string, version: string, pool = 'a'): Machine =>
  ({
    metadata: { name, uid: `uid-${name}`, labels: { pool } },
    spec: { channel: 'Agent', components: [{ name: 'beacon', version, attempt: 1 }] },
    status: { phase: 'Ready', nodeRef: { name: `node-${name}`, uid: `node-uid-${name}` } },
  }) as unknown as Machine

const nodeOf = (name: string, isReady: boolean): Node =>
  ({
    metadata: { name: `node-${name}`, uid: `node-uid-${name}` },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  }) as unknown as Node

test('the remembered reading of machines equals a fresh one, whatever came, left and changed', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 20 }), (inspectionResults) => {
      const machines = new Map<string, Machine>()
      const nodes = new Map<string, Node>()
      const memo = new ReadingMemo()
      for (const changes of inspectionResults) {
        for (const { name, what, version } of changes) {
          if (what === 'machine') machines.set(name, machineOf(name, version))
          if (what === 'leaves') machines.set(name, machineOf(name, version, 'b'))
          if (what === 'goes') machines.delete(name)
          if (what === 'node') nodes.set(`node-${name}`, nodeOf(name, version === '1.0.0'))
          if (what === 'node goes') nodes.delete(`node-${name}`)
        }
        const list = [...machines.values()]
        expect(readMembers(set, list, nodes, indexOf, memo)).toEqual(readMembers(set, list, nodes, indexOf))
      }
    }),
    { numRuns: 500 },
  )
})

test('a machine that did not change is not read again', () => {
  const machines = NAMES.map((name) => machineOf(name, '1.0.0'))
  const nodes = new Map(NAMES.map((name) => [`node-${name}`, nodeOf(name, true)]))
  const memo = new ReadingMemo()
  const { list: before } = readMembers(set, machines, nodes, indexOf, memo)
  nodes.set('node-c', nodeOf('c', true))
  const { list: after } = readMembers(set, machines, nodes, indexOf, memo)
  expect(before.map((reading, i) => reading === after[i])).toEqual([true, true, false, true, true, true])
  const { list: without } = readMembers(set, machines.slice(1), nodes, indexOf, memo)
  expect(without.every((reading, i) => reading === after[i + 1])).toBe(true)
})
