// A thief of an artifact server's key answers for it: that must not end the agents that ask for a token.
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { tokenServer } from './token-server.ts'

test('an answer that is longer than any sealed token is not read', async () => {
  const validity = { now: Date.now(), days: 1 }
  const authority = newAuthority('authority', validity)
  const { certificate: cert, key } = issueCertificate(authority, {
    subject: { commonName: 'artifacts' },
    hosts: ['127.0.0.1'],
    validity,
    usage: 'server',
  })
  const server = createServer({ cert, key }, (request, response) => {
    response.on('error', () => undefined)
    response.writeHead(200).end('x'.repeat(request.url === '/long' ? 65 * 1024 : 64 * 1024))
  })
  await new Promise<void>((listening) => void server.listen(0, '127.0.0.1', listening))
  const client = tokenServer({
    artifactBase: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    artifactCa: authority.certificate,
  })
  onTestFinished(() => {
    client?.close()
    server.closeAllConnections()
    server.close()
  })
  await expect(client?.raw({ method: 'GET', path: '/whole' })).resolves.toMatchObject({ status: 200 })
  await expect(client?.raw({ method: 'GET', path: '/long' })).rejects.toThrow(/^KN2005/)
})
