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
