import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { refuseUpgrade } from './refuse-upgrade.ts'

test('an answer that switches to another protocol is an error of the request', async () => {
  const server = createServer((request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const asked = new Promise((resolve, reject) => {
      const request = get({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false }, resolve)
      refuseUpgrade(request)
      request.on('error', reject)
    })
    await expect(asked).rejects.toThrow('a switch to another protocol')
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
