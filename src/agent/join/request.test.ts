import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { newKey, requestCertificate, requestName } from './request.ts'

test('a join that waits for its approval says so once', async () => {
  const clock = new VirtualClock()
  const stop = new AbortController()
  const request = { apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest', metadata: {} }
  let looks = 0
  const client = {
    create: () => Promise.resolve(request),
    get: () => {
      if (++looks === 20) stop.abort(new Error('enough'))
      return Promise.resolve(request)
    },
  } as unknown as KubeClient
  const said: string[] = []
  const key = await newKey()
  const deps = { client, clock, signal: stop.signal, onWait: (name: string) => said.push(name) }
  const asking = requestCertificate(deps, { machine: 'm', node: 'm' }, key)
  const ended = expect(asking).rejects.toThrow('enough')
  // Enough for twenty polls, the later ones two seconds apart.
  for (let i = 0; i < 100; i++) {
    await clock.advance(500)
    await new Promise((done) => setImmediate(done))
  }
  await ended
  expect(said).toEqual([requestName('m', key)])
})
