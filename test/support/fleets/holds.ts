// Holds for tests: one that pauses a thing for years, unless the test says otherwise.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'

/** The user of the kubeconfig that our servers write: who makes a hold names themselves in it. */
export const ADMIN = 'kubernetes-admin'

type Spec = OperationalHold['spec']

export const holdOn = (
  kind: NonNullable<Spec['target']['kind']>,
  name: string,
  spec: Partial<Spec> = {},
): OperationalHold => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'OperationalHold',
  metadata: { name: 'h' },
  spec: { target: { kind, name }, effect: 'Pause', reason: 'r', author: 'ada', until: '2030-01-01T00:00:00Z', ...spec },
})
