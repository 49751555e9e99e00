import { expect, test } from 'vitest'
import { jsonPathReader } from './json-path.ts'

const object = {
  spec: { replicas: 3, 'a.b': 1, list: [{ n: 1 }, { n: 2 }] },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Stalled', status: 'False' },
    ],
  },
  metadata: { annotations: { 'x.io/y': 'z' } },
}

test.each([
  ['.spec.replicas', [3]],
  ['.spec.none', []],
  ['.spec.list[0].n', [1]],
  ['.spec.list[*].n', [1, 2]],
  ["['spec']['a.b']", [1]],
  [String.raw`.metadata.annotations.x\.io/y`, ['z']],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  [".status.conditions[?(@.type!='Ready')].type", ['Stalled']],
  ['.spec..replicas', []],
  ['', []],
])('%s finds %j', (path, want) => expect(jsonPathReader(path)(object).filter((v) => v !== object)).toEqual(want))

test('a filter that never ends is given up after one look, and a path that no schema needs is not read', () => {
  for (const path of [`.a[?(@${' '.repeat(900)}`, `.a[?(@${' '.repeat(100_000)}`, `.${'a'.repeat(1_100)}`])
    expect(jsonPathReader(path)({ a: [1], [path.slice(1)]: 1 })).toEqual([])
  expect(jsonPathReader('.status.conditions[?( @.type  ==  "Ready" )].status')(object)).toEqual(['True'])
})
