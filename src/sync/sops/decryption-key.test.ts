// The keys of a FleetSource: from its provider's entries, and none if this version does not know the provider.
import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { AGE_KEY, AGE_RECIPIENT } from '#test/support/tools/sops-writer.ts'
import { identitiesOf } from './decryption-key.ts'

const sourceWith = (provider: string): FleetSource =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', namespace: 'team-a' },
    spec: { decryption: { provider, secretRef: { name: 'age' } } },
  }) as unknown as FleetSource
const SECRET = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'age', namespace: 'team-a' },
  data: {
    'age.agekey': Buffer.from(AGE_KEY).toString('base64'),
    note: Buffer.from('no key').toString('base64'),
  },
}

test('sops reads the entries that end in .agekey', async () => {
  expect((await identitiesOf(sourceWith('sops'), SECRET)).map((i) => i.recipient)).toEqual([AGE_RECIPIENT])
})

test.each(['vault', 'constructor', ''])(
  'provider %j of newer definitions is refused, never taken for sops',
  async (p) => {
    await expect(identitiesOf(sourceWith(p), SECRET)).rejects.toThrow(/KN7137/)
  },
)
