// Extension API servers, such as metrics-server, are reached where they listen: Service addresses lead nowhere on the machine of an API server.
import { expect, test } from 'vitest'
import { serverFlags } from './flags.ts'

test('an API server proves itself to extension API servers, and asks them at their endpoints', () => {
  const ports = { port: 1, etcdPort: 2, peerPort: 3, managerPort: 4, schedulerPort: 5 }
  expect(serverFlags({ data: '/data', keys: '/keys', host: '192.0.2.1', ...ports })).toEqual(
    expect.arrayContaining([
      '--enable-aggregator-routing=true',
      '--proxy-client-cert-file=/keys/front-proxy.crt',
      '--requestheader-client-ca-file=/keys/front-proxy-ca.crt',
    ]),
  )
})
