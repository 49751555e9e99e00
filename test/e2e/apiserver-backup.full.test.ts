// `kubenode apiserver backup | restore | check` on a running server: one moment, the same identity, no revision twice, exit codes that scripts can rely on.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Requests } from '#test/support/servers/api-requests.ts'
import { startApiServer, startedApiServer, type ServerProcess } from '#test/support/servers/apiserver-process.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/kubenode')
const PATH = '/api/v1/namespaces/default/configmaps'

let folder = ''
let data = ''
let backup = ''
const running = new Set<ServerProcess>()
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-backup-'))
  data = join(folder, 'data')
  backup = join(folder, 'backup.db')
})
afterEach(async () => {
  for (const server of running) await server.end('SIGKILL')
  running.clear()
  rmSync(folder, { recursive: true, force: true })
})

async function start(at = data): Promise<ServerProcess> {
  const server = await startedApiServer(at)
  running.add(server)
  return server
}
function kubenode(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(PROGRAM, ['apiserver', ...args], { encoding: 'utf8' })
  return { code: status, out: stdout, err: stderr }
}
const make = (requests: Requests, name: string) => requests.made(PATH, { metadata: { name }, data: { name } })

describe('a backup of a server at work', () => {
  test('comes back as the same server, and what was written after the backup is known to be gone', async () => {
    const server = await start()
    const requests = new Requests(server)
    await requests.made('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'robot' } })
    const { body } = await requests.post('/api/v1/namespaces/default/serviceaccounts/robot/token', { spec: {} })
    const { token } = body['status'] as { readonly token: string }
    await make(requests, 'before')
    const made = kubenode('backup', '--data', data, '--out', backup)
    expect(made).toMatchObject({
      code: 0,
      out: `${backup}\n`,
      err: expect.stringMatching(/^backed up \d+ objects at revision \d+/),
    })
    const lost = await make(requests, 'after')
    requests.close()
    await server.end('SIGKILL')

    const again = join(folder, 'again')
    expect(kubenode('restore', '--data', again, '--from', backup)).toMatchObject({ code: 0, out: `${again}\n` })
    const second = await start(again)
    // earlier certificates are still valid, since the backup has the keys
    const restored = new Requests({ ...server, url: second.url })
    const list = await restored.get(PATH)
    const names = (list.body.items ?? []).map((o) => o.metadata.name)
    expect([names.includes('before'), names.includes('after')]).toEqual([true, false])
    const who = await restored.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token })
    expect(who.body['status']).toMatchObject({ userInfo: { username: 'system:serviceaccount:default:robot' } })
    // no client takes an old revision for a new one
    const { resourceVersion = '' } = lost.metadata
    expect(Number(list.body.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion))
    const watch = await restored.watch(`${PATH}?watch=true&resourceVersion=${resourceVersion}`)
    const [line] = await watch.until((lines) => lines.length > 0)
    watch.close()
    expect([line?.type, line?.object.code]).toEqual(['ERROR', 410])
    const stale = await restored.put(`${PATH}/before`, { metadata: { name: 'before', resourceVersion }, data: {} })
    expect(stale.code).toBe(409)
    expect(Number((await make(restored, 'new')).metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion))
    restored.close()
  })

  test('many backups under load are each of one moment', async () => {
    const server = await start()
    const requests = new Requests(server)
    const stop = new AbortController()
    const writing = (async () => {
      for (let i = 0; !stop.signal.aborted; i++) {
        await requests.send('PATCH', `${PATH}/left?fieldManager=me&force=true`, applied('left', i), {
          type: 'application/apply-patch+yaml',
        })
        await requests.send('PATCH', `${PATH}/right?fieldManager=me&force=true`, applied('right', i), {
          type: 'application/apply-patch+yaml',
        })
      }
    })()
    for (let n = 0; n < 3; n++) {
      const out = join(folder, `b${n}.db`)
      expect(kubenode('backup', '--data', data, '--out', out).code).toBe(0)
      expect(kubenode('check', '--from', out)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^format {4}3\nrevision {2}\d+\nobjects/),
      })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(kubenode('check', '--data', data).code).toBe(0)
    stop.abort()
    await writing
    requests.close()
  })
})

const applied = (name: string, i: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { i: String(i) },
})

describe('exit codes', () => {
  test('check: 0 sound, 1 damaged, 2 it cannot look', async () => {
    await (await start()).end('SIGTERM')
    expect(kubenode('check', '--data', data)).toMatchObject({ code: 0, err: expect.stringContaining('is sound') })
    const file = join(data, 'objects.db')
    const bytes = readFileSync(file)
    bytes.fill(0xee, 4_096 * 4, 4_096 * 5)
    writeFileSync(file, bytes)
    expect(kubenode('check', '--data', data)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is damaged; restore a backup'),
    })
    // A damaged backup is not what helps.
    expect(kubenode('check', '--from', file)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is damaged; do not restore it'),
    })
    expect(kubenode('check', '--data', join(folder, 'none'))).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN6111: /),
    })
  })

  test('a backup is not written over, and not made of damage', async () => {
    await (await start()).end('SIGTERM')
    writeFileSync(backup, 'mine')
    expect(kubenode('backup', '--data', data, '--out', backup)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN6112: /),
    })
    expect(readFileSync(backup, 'utf8')).toBe('mine')
  })

  test('a folder in use is not restored into', async () => {
    await (await start()).end('SIGTERM')
    expect(kubenode('backup', '--data', data, '--out', backup).code).toBe(0)
    expect(kubenode('restore', '--data', data, '--from', backup)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN6112: /),
    })
  })

  test('F27 a server whose log was deleted says so, and what is left can be saved', async () => {
    const server = await start()
    const requests = new Requests(server)
    for (let i = 0; i < 20; i++) await make(requests, `c${i}`)
    requests.close()
    await server.end('SIGKILL')
    for (const f of ['objects.db-wal', 'objects.db-shm']) rmSync(join(data, f))
    const refused = await startApiServer(data)
    expect('failed' in refused ? refused.failed : refused).toMatchObject({
      code: 2,
      err: expect.stringMatching(/KN6108: .*the newest writes are missing/),
    })
    expect(existsSync(join(data, 'objects.db'))).toBe(true)
    expect(kubenode('check', '--data', data)).toMatchObject({
      code: 1,
      err: expect.stringContaining('was acknowledged'),
    })
  })
})
