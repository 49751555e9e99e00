import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { clusterUnit } from './unit.ts'

const HOSTED = { version: '1.36.0', controlPlane: { flavor: 'embedded' } }
const REGISTERED = { kubeconfigSecretRef: { name: 'cluster-one' } }
const SERVED = [{ version: '1.36.0', startedAt: '2030-01-01T00:00:00Z' }]
const healthOf = (spec: object, status: object): string =>
  clusterUnit({ metadata: { name: 'one', namespace: 'fleet', uid: 'u' }, spec, status } as unknown as Cluster).health
const ready = (status: string) => ({ conditions: [{ type: 'Ready', status }] })

test.each([
  ['a control plane that serves', HOSTED, { ...ready('True'), history: SERVED }, 'Healthy'],
  ['one that served and does not any longer', HOSTED, { ...ready('False'), history: SERVED }, 'Unavailable'],
  ['one that served and is not known about', HOSTED, { ...ready('Unknown'), history: SERVED }, 'Unknown'],
  ['one that waits for room on a full hub', HOSTED, ready('False'), 'NeverServed'],
  ['one without a report yet', HOSTED, {}, 'NeverServed'],
  ['one at the end of its time', HOSTED, { phase: 'Expired', ...ready('False'), history: SERVED }, 'Healthy'],
  ['a registered cluster that does not answer', REGISTERED, ready('False'), 'Unavailable'],
  ['a registered cluster that was not asked yet', REGISTERED, {}, 'Unknown'],
])('%s', (_, spec, status, health) => expect(healthOf(spec, status)).toBe(health))
