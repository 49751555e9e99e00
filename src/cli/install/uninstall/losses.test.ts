import { expect, test } from 'vitest'
import { lossLines, type Losses } from './losses.ts'

const losses: Losses = {
  objects: new Map([
    ['FleetSource', 2],
    ['Machine', 3],
    ['Release', 1],
  ]),
  inNamespaces: new Map([
    ['FleetSource', 1],
    ['Release', 1],
  ]),
  agents: [],
  granted: [],
}

test('what is deleted with the namespaces is not called kept', () => {
  expect(lossLines(losses, false)).toEqual([
    'deleted for good with the namespaces of KubeNode (--keep-namespace keeps them): 1 FleetSource, 1 Release',
    'kept, with their definitions: 1 FleetSource, 3 Machine',
  ])
  expect(lossLines({ ...losses, inNamespaces: new Map() }, false)).toEqual([
    'kept, with their definitions: 2 FleetSource, 3 Machine, 1 Release',
  ])
  expect(lossLines(losses, true)).toEqual(['deleted for good: 2 FleetSource, 3 Machine, 1 Release'])
})
