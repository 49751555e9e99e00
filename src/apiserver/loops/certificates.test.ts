import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { pem } from '#lib/x509/der.ts'
import type { ServerParts } from '../handlers/context.ts'
import type { Stored } from '../storage/stored.ts'
import { CertificateSigner } from './certificates.ts'

const REQUEST = Buffer.from(pem('CERTIFICATE REQUEST', Buffer.from('no request'))).toString('base64')

test('a request that stays pending is read once, however often others change', async () => {
  let reads = 0
  const value = {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name: 'odd' },
    spec: {
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      get request() {
        reads++
        return REQUEST
      },
    },
  } as unknown as KubeObject
  const version = (): Stored => ({ value }) as unknown as Stored
  let stored = version()
  const store = { collection: () => ({ snapshot: () => [stored] }) }
  const signer = new CertificateSigner({ store } as unknown as ServerParts)
  for (let pass = 0; pass < 3; pass++) await signer.look()
  expect(reads).toBe(1)
  stored = version()
  await signer.look()
  expect(reads).toBe(2)
})
