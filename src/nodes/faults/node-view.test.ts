import { expect, test } from 'vitest'
import type { Node } from '../objects.ts'
import { nodeView } from './node-view.ts'

const reporting = (...statuses: readonly string[]) =>
  nodeView(
    {
      metadata: { name: 'n', uid: 'u' },
      status: { conditions: statuses.map((status) => ({ type: 'Ready', status })) },
    } as unknown as Node,
    undefined,
  ).standing.kind

test.each([
  ['True', ['True']],
  ['twice the same', ['False', 'False']],
])('a node with Ready %s is readable', (_, statuses) => expect(reporting(...statuses)).toBe('Readable'))

test('a node that is listed both as Ready and as not Ready is not', () =>
  expect(reporting('True', 'False')).toBe('Silent'))
