import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { SLOW_MS } from '#kube/http/client.ts'
import { talkingClientOf } from './connect.ts'

test('a server that does not answer is named while a command waits for it', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('{}'), SLOW_MS + 1_500)
    else response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const said: string[] = []
  const client = talkingClientOf({ server: url }, (line) => said.push(line))
  try {
    const ask = (path: string) => client.raw({ method: 'GET', path, timeoutMs: 60_000 })
    await ask('/quick')
    await Promise.all([ask('/slow'), ask('/slow')])
    expect(said.filter((line) => line.endsWith('/slow'))).toEqual([`waiting for ${url}: GET /slow`])
  } finally {
    client.close()
    server.closeAllConnections()
    server.close()
  }
})
