import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { absent } from '#explain/objects/find-object.ts'
import { SLOW_MS } from '#kube/http/client.ts'
import type { Environment } from '#kube/in-cluster.ts'
import { chosenConnection, talkingClientOf } from './connect.ts'

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: east
clusters: [{ name: east, cluster: { server: 'https://east.example' } }]
users: [{ name: ada, user: { token: none } }]
contexts: [{ name: east, context: { cluster: east, user: ada } }]
`

test('a server that does not answer is named while a command waits for it', async () => {
  const server = createServer((request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('{}'), SLOW_MS + 1_500)
    else response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const said: string[] = []
  const client = talkingClientOf({ config: { server: url }, place: 'this cluster' }, (line) => said.push(line))
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

test('a connection is called by its context and by the file as the user knows it, and so is where nothing was found', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-place-'))
  const file = join(folder, 'config')
  writeFileSync(file, KUBECONFIG)
  try {
    const placeIn = async (env: Environment, named?: string) =>
      (await chosenConnection({ file: named, context: undefined, env, cwd: folder })).place
    expect([
      await placeIn({}, file),
      await placeIn({ KUBECONFIG: file }),
      await placeIn({ KUBECONFIG: `${file}:${join(folder, 'absent')}` }),
    ]).toEqual([`context east of ${file}`, `context east of ${file}`, 'context east of KUBECONFIG'])
    const place = await placeIn({}, file)
    const missing = { client: { place }, noun: 'set', name: 'base', known: ['bass'], plural: 'machinecomponentsets' }
    expect(absent(missing).message).toMatch(`cannot find set/base in ${place} (did you mean set/bass?)`)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
