import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { Heartbeats } from './heartbeats.ts'
import type { MachineCaches } from '../observe.ts'
import { wakeUp } from './triggers.ts'

type Told = (before: KubeObject | undefined, now: KubeObject | undefined) => void

/** Caches with these machines, and the events that a test triggers. */
function listening(machines: readonly KubeObject[]) {
  const tell = new Map<string, Told>()
  const cache = (name: string) => ({
    list: () => (name === 'machines' ? machines : []),
    get: () => undefined,
    onChange: (told: Told) => (tell.set(name, told), () => undefined),
  })
  const caches = new Proxy({}, { get: (_, name) => cache(String(name)) }) as MachineCaches
  const woken: string[] = []
  const heartbeats = () => new Heartbeats(() => 0)
  wakeUp(caches, { agentHeartbeats: heartbeats(), nodeHeartbeats: heartbeats() }, (name) => woken.push(name))
  return { woken, tell: (name: string, ...change: Parameters<Told>) => tell.get(name)?.(...change) }
}

const machine = (name: string, version: string): KubeObject =>
  ({ metadata: { name }, spec: { components: [{ name: 'beacon', version }] } }) as unknown as KubeObject
const definition = (disruption: string, resourceVersion: string): KubeObject =>
  ({
    metadata: { resourceVersion },
    spec: { component: 'beacon', version: '1.1.0', disruption },
  }) as unknown as KubeObject

test('a definition that is changed or goes wakes the machines that have the version, and no other', () => {
  const { woken, tell } = listening([machine('a', '1.0.0'), machine('b', '1.1.0')])
  tell('definitions', definition('Restart', '1'), definition('Drain', '2'))
  expect(woken).toEqual(['b'])
  tell('definitions', definition('Drain', '2'), undefined)
  expect(woken).toEqual(['b', 'b'])
  tell('definitions', definition('Drain', '2'), definition('Drain', '3'))
  expect(woken).toEqual(['b', 'b'])
})
