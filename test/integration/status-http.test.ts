// The status server over a real socket: what a scraper and a kubelet's probe see.
import { request } from 'node:http'
import { connect } from 'node:net'
import { once } from 'node:events'
import { silentLogger } from '#lib/log.ts'
import { Health } from '#runtime/health.ts'
import { StatusHttp } from '#runtime/http.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { afterEach, expect, test } from 'vitest'

const servers: StatusHttp[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function serve(port = 0) {
  const health = new Health()
  const http = new StatusHttp({ health, metrics: createMetrics({ process: true }).registry, log: silentLogger, port })
  servers.push(http)
  await http.start()
  return { http, health }
}

const get = (port: number | undefined, path: string, method = 'GET', host = `127.0.0.1:${port}`) =>
  new Promise<{ status: number | undefined; type: string | undefined; body: string }>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers: { host } }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], body }))
    })
      .on('error', reject)
      .end()
  })

test('health, readiness and metrics are served on the loopback address', async () => {
  const { http, health } = await serve()
  health.readyWhen('caches', () => 'not synced yet')
  expect(await get(http.port, '/healthz')).toMatchObject({ status: 200 })
  expect(await get(http.port, '/readyz')).toMatchObject({ status: 503, body: '[-] caches: not synced yet\nfailed\n' })
  const metrics = await get(http.port, '/metrics')
  expect(metrics).toMatchObject({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
  expect(metrics.body).toContain('kubenode_process_cpu_seconds_total')
})

test('a port that is taken is said so, with what to do', async () => {
  const { http } = await serve()
  await expect(serve(http.port)).rejects.toMatchObject({ code: 'KN1206' })
  servers.pop()
})

test('after the stop nothing listens any more', async () => {
  const { http } = await serve()
  const { port } = http
  await http.stop()
  servers.pop()
  await expect(get(port, '/healthz')).rejects.toThrow()
})

test('S18 a page of another name that resolves to the loopback address reads nothing', async () => {
  const { http } = await serve()
  for (const host of ['evil.example', `evil.example:${http.port}`, '127.0.0.1.evil.example', 'localhost@evil.example'])
    for (const path of ['/metrics', '/healthz', '/readyz', '/'])
      expect(await get(http.port, path, 'GET', host)).toMatchObject({
        status: 421,
        body: 'the Host header names another server; use localhost\n',
      })
  expect(await get(http.port, '/healthz', 'GET', `localhost:${http.port}`)).toMatchObject({ status: 200 })
})

test.each(['HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])(
  'S18 %s is refused: only GET is answered',
  async (method) => {
    const { http } = await serve()
    expect(await get(http.port, '/metrics', method)).toMatchObject({ status: 405 })
  },
)

test('silent connections of a local user take no place from a probe', async () => {
  const { http } = await serve()
  const silent = Array.from({ length: 40 }, () => connect({ host: '127.0.0.1', port: http.port ?? 0 }))
  for (const socket of silent) socket.on('error', () => undefined)
  try {
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect(await get(http.port, path)).toMatchObject({ status: 200 })
  } finally {
    for (const socket of silent) socket.destroy()
  }
})
