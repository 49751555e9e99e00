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
  ofPeople: [],
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

test('claims and Secrets of people in the namespaces that are deleted are named', () => {
  const many = Array.from({ length: 12 }, (_, n) => `Secret kubenode-clusters/cluster-${n}`)
  const line = (ofPeople: readonly string[]) => lossLines({ ...losses, ofPeople }, true)[1]
  expect(line(['PersistentVolumeClaim kubenode-system/artifacts'])).toBe(
    'deleted with the namespaces of KubeNode as well (--keep-namespace keeps them): PersistentVolumeClaim kubenode-system/artifacts',
  )
  expect(line(many)).toMatch(/cluster-9 and 2 more$/)
})
