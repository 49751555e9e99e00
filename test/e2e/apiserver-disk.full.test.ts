// The files of the embedded server on a disk that fails, fills up, or loses power, and under a process that is killed at any of its writes.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backupData } from '#apiserver/storage/backup.ts'
import { checkData } from '#apiserver/storage/check-data.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import { seededRandom } from '#lib/random.ts'
import { Requests, type Reply } from '#test/support/servers/api-requests.ts'
import { startedApiServer, type ServerProcess } from '#test/support/servers/apiserver-process.ts'
import { LossyDisk } from '#test/support/faults/power-loss.ts'
import { revisionAfter, stateAfter, stateOf, storedBatch } from '#test/support/faults/storage-batches.ts'
import { injecting, noStrace, recording, run, type Injection } from '#test/support/faults/strace.ts'
import { testSeed } from '#test/support/tools/seed.ts'

const CHILD = join(import.meta.dirname, '../support/faults/storage-child.ts')
const seed = testSeed
const why = noStrace()

let root = ''
let folder = ''
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-disk-'))
  folder = join(root, 'data')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const child = (...args: readonly string[]) => [
  process.execPath,
  '--disable-warning=ExperimentalWarning',
  CHILD,
  ...args,
]
const inData = () => ['objects.db', 'objects.db-wal'].map((f) => join(folder, f))

/** Batches by what was said about them. */
function said(out: string) {
  const of = (word: string) =>
    out
      .split('\n')
      .filter((l) => l.startsWith(`${word} `))
      .map((l) => Number(l.split(' ')[1]))
  return { stored: of('stored'), refused: of('refused'), failed: of('failed') }
}

/** The state after a restart, the file being sound. */
async function found(at = folder) {
  const file = join(at, 'objects.db')
  const storage = sqliteStorage(file)
  const { revision, objects } = storage.load()
  const state = stateOf(objects)
  await storage.close()
  expect(checkData(file).problems).toEqual([])
  return { revision, state }
}

/** Enough for the log to be folded in between: some 1,000 calls. */
const BATCHES = 44
/** A folder with the first batches, as it is after an orderly end. */
async function withFirst(): Promise<void> {
  const storage = sqliteStorage(join(folder, 'objects.db'))
  for (let n = 0; n < 4; n++) await storage.commit(storedBatch(n))
  await storage.close()
}

async function faulty(injection: Omit<Injection, 'files'>) {
  return run([...injecting({ files: inData(), ...injection }), ...child('store', folder, '', '4', String(BATCHES))])
}

/** One of the first calls, where files are opened, one that is surely in the middle of the work, and some of all. */
function places(calls: number): readonly number[] {
  const random = seededRandom(seed)
  const any = Array.from({ length: 60 }, () => 1 + Math.floor(random.next() * calls))
  return [1 + Math.floor(random.next() * 4), Math.ceil(calls / 10), ...any]
}

describe(`a disk that fails at one write (seed ${seed})`, () => {
  test('F26 a sync that fails ends it: nothing is acknowledged after, nothing acknowledged before is lost', async (context) => {
    if (why !== undefined) context.skip(why)
    let ends = 0
    for (const when of places(46)) {
      rmSync(folder, { recursive: true, force: true })
      await withFirst()
      const { code, out } = await faulty({ calls: ['fsync', 'fdatasync'], what: 'error=EIO', when: `${when}` })
      if (code === 3) ends++
      const { stored: acknowledged, failed, refused } = said(out)
      expect(refused).toEqual([])
      if (code === 4) continue // seen while it was opened
      const last = acknowledged.at(-1) ?? 3
      if (failed.length > 0) expect({ code, failed, out }).toMatchObject({ code: 3, failed: [last + 1] })
      const { revision, state } = await found()
      // the failed batch may be stored: its client got no such answer
      const batches = revision / revisionAfter(1)
      expect([last + 1, last + 2]).toContain(batches)
      expect(state).toEqual(stateAfter(batches))
    }
    expect(ends).toBeGreaterThan(0)
  })

  test('F25 a disk that is full at one write refuses that batch as a whole, and goes on', async (context) => {
    if (why !== undefined) context.skip(why)
    const refusals: number[] = []
    for (const when of places(900)) {
      rmSync(folder, { recursive: true, force: true })
      await withFirst()
      const { out, code } = await faulty({ calls: ['pwrite64'], what: 'error=ENOSPC', when: `${when}..${when + 1}` })
      if (code === 4) continue
      const { stored: acknowledged, refused, failed } = said(out)
      expect({ failed, out }).toMatchObject({ failed: [] })
      expect(acknowledged.length + refused.length).toBe(BATCHES - 4)
      refusals.push(...refused)
      expect((await found()).state).toEqual(stateAfter(BATCHES, new Set(refused)))
    }
    expect(refusals.length).toBeGreaterThan(0)
  })

  const KILLING = {
    calls: ['pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'rename'],
    what: 'signal=KILL',
  } as const

  test('F23 killed at any write, sync or fold, it holds all that was acknowledged and no half batch', async (context) => {
    if (why !== undefined) context.skip(why)
    let kills = 0
    for (const when of places(900)) {
      rmSync(folder, { recursive: true, force: true })
      await withFirst()
      const { out, signal } = await faulty({ ...KILLING, when: `${when}` })
      if (signal === 'SIGKILL') kills++
      const last = said(out).stored.at(-1) ?? 3
      const { revision, state } = await found()
      const batches = revision / revisionAfter(1)
      expect([last + 1, last + 2]).toContain(batches)
      expect(state).toEqual(stateAfter(batches))
    }
    expect(kills).toBeGreaterThan(0)
  })

  test('F23 a backup or a restore that is killed leaves nothing that looks like one, and works the next time', async (context) => {
    // Many starts; a server that is killed at any moment is tested above.
    if (why !== undefined) context.skip(why)
    await withFirst()
    const good = join(root, 'good.db')
    backupData(folder, good)
    const kills = new Set<string>()
    for (const when of new Set(places(14))) {
      for (const mode of ['backup', 'restore'] as const) {
        const out = join(root, `${mode}-${when}`)
        const files =
          mode === 'backup'
            ? [`${out}.part`, out]
            : ['objects.db', 'objects.db.mark', 'pki', ''].map((f) => join(root, `.restore-${when}.restoring`, f))
        const args = mode === 'backup' ? child('backup', folder, out) : child('restore', out, good)
        const { signal } = await run([...injecting({ files, ...KILLING, when: `${when}` }), ...args])
        if (signal === 'SIGKILL') kills.add(mode)
        const whole = mode === 'backup' ? out : join(out, 'objects.db')
        const again = await run(args)
        expect(again.out).toMatch(/^done \d+|KN6112/)
        expect(checkData(whole)).toMatchObject({ problems: [], objects: stateAfter(4).length })
      }
    }
    expect([...kills].toSorted()).toEqual(['backup', 'restore'])
    expect((await found()).state).toEqual(stateAfter(4))
  })
})

describe(`a loss of power (seed ${seed})`, () => {
  test('F23 F28 at any moment leaves all that was acknowledged, no half batch, and no false alarm', async (context) => {
    if (why !== undefined) context.skip(why)
    const random = seededRandom(seed)
    const record = recording()
    const { out } = await run([...record.argv, ...child('store', folder, '', '0', '60')])
    expect(out).toContain('closed')
    const events = record.events(folder)
    expect(events.filter((e) => e.kind === 'Said').length).toBe(61)
    const disk = new LossyDisk()
    let acknowledged = 0
    let looks = 0
    for (const event of events) {
      disk.see(event)
      if (event.kind === 'Said' && event.text.startsWith('stored')) acknowledged++
      if (random.next() > 0.5) continue
      const at = join(root, `loss-${looks++}`)
      mkdirSync(at)
      disk.leave(folder, at, random)
      const { revision, state } = await found(at)
      const batches = revision / revisionAfter(1)
      // before the first answer the file itself may be in the making
      expect([acknowledged, acknowledged + 1]).toContain(batches)
      expect(state).toEqual(stateAfter(batches))
      rmSync(at, { recursive: true })
    }
    expect(looks).toBeGreaterThan(10)
  })

  test('a sync that is left out is found by the same replay', async (context) => {
    if (why !== undefined) context.skip(why)
    const record = recording()
    await run([...record.argv, ...child('store', folder, '', '0', '20')])
    const random = seededRandom(seed)
    const disk = new LossyDisk()
    let acknowledged = 0
    let losses = 0
    for (const [i, event] of record.events(folder).entries()) {
      if (event.kind !== 'Sync' || i < 40) disk.see(event)
      if (event.kind !== 'Said' || !event.text.startsWith('stored')) continue
      acknowledged++
      const at = join(root, `loss-${i}`)
      mkdirSync(at)
      disk.leave(folder, at, random)
      const isWhole = await found(at).then(
        ({ revision }) => revision >= revisionAfter(acknowledged),
        () => false,
      )
      if (!isWhole) losses++
      rmSync(at, { recursive: true })
    }
    expect(losses).toBeGreaterThan(0)
  })
})

describe('the server on a disk that fails', () => {
  const PATH = '/api/v1/namespaces/default/configmaps'
  const configMap = (name: string, bytes = 10) => ({ metadata: { name }, data: { fill: 'x'.repeat(bytes) } })
  const sorted = (names: readonly string[]) => names.toSorted((a, b) => (a < b ? -1 : 1))
  const namesIn = ({ items = [] }: Reply['body']) =>
    sorted(items.map((o) => o.metadata.name ?? '').filter((n) => n !== 'kube-root-ca.crt'))
  const running = new Set<ServerProcess>()
  const start = async (data: string, under: readonly string[] = []): Promise<ServerProcess> => {
    const server = await startedApiServer(data, 0, { under })
    running.add(server)
    return server
  }
  afterEach(async () => {
    for (const server of running) await server.end('SIGKILL')
    running.clear()
  })

  test('F26 a sync that fails ends the process with a number, and nothing is answered after', async (context) => {
    if (why !== undefined) context.skip(why)
    const first = await start(folder)
    await first.end('SIGTERM')
    const server = await start(
      folder,
      injecting({ files: inData(), calls: ['fsync', 'fdatasync'], what: 'error=EIO', when: '25+' }),
    )
    const requests = new Requests(server)
    const acknowledged: string[] = []
    for (let i = 0; i < 200; i++) {
      const made = await requests.made(PATH, configMap(`c${i}`)).catch(() => undefined)
      if (made === undefined) break
      acknowledged.push(`c${i}`)
    }
    const { code, err } = await server.ended
    requests.close()
    expect(code).toBe(2)
    expect(err).toMatch(/KN6116: cannot write to .*the server ends.*check the disk/)
    expect(acknowledged.length).toBeGreaterThan(5)
    const again = await start(folder)
    const after = new Requests(again)
    const { body } = await after.get(PATH)
    after.close()
    expect((body.items ?? []).map((o) => o.metadata.name)).toEqual(expect.arrayContaining(acknowledged))
  })

  test('F25 a full disk is answered with 507, what is there is read, and writes go on when there is space', async (context) => {
    const disk = join(root, 'small')
    mkdirSync(disk)
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk])
    if (mounted.status !== 0) context.skip('a small disk cannot be mounted here: no root')
    try {
      const data = join(disk, 'data')
      const server = await start(data)
      const requests = new Requests(server)
      await requests.made(PATH, configMap('before'))
      const watch = await requests.watch(`${PATH}?watch=true&fieldSelector=metadata.name%3Dbefore`)
      const made: string[] = []
      let count = 0
      const fullAgain = async (): Promise<Reply> => {
        for (; count < 400; count++) {
          const reply = await requests.post(PATH, configMap(`c${count}`, 100_000))
          if (reply.code !== 201) return reply
          made.push(`c${count}`)
        }
        throw new Error('the disk was never full')
      }
      const refused = await fullAgain()
      expect(refused).toMatchObject({
        code: 507,
        body: { kind: 'Status', status: 'Failure', reason: 'InsufficientStorage' },
      })
      expect(refused.body.message).toMatch(/^KN6106: .*the disk is full; nothing of this write was stored/)
      // objects that grow, many at once, and a dry run
      const many = await Promise.all(
        made.map((n) => requests.patch('merge', `${PATH}/${n}`, { data: { fill: 'y'.repeat(300_000) } })),
      )
      expect(many.map((r) => r.code)).toContain(507)
      // objects that do not grow still fit: heartbeats continue
      expect((await requests.patch('merge', `${PATH}/before`, { data: { fill: 'same size!' } })).code).toBe(200)
      expect((await requests.post(`${PATH}?dryRun=All`, configMap('dry'))).code).toBe(201)
      const named = async () => namesIn((await requests.get(PATH)).body)
      expect(await named()).toEqual(sorted(['before', ...made]))

      // room is made through the server itself: each deletion is taken, and what is new finds room again
      for (const name of made.splice(-40)) expect((await requests.delete(`${PATH}/${name}`)).code).toBe(200)
      await requests.made(PATH, configMap('instead', 100_000))
      expect((await requests.delete(`${PATH}/instead`)).code).toBe(200)
      await fullAgain()
      const gone = await Promise.all(made.splice(-20).map((name) => requests.delete(`${PATH}/${name}`)))
      expect(gone.map((r) => r.code)).toEqual(gone.map(() => 200))
      await fullAgain()

      const resized = spawnSync('mount', ['-o', 'remount,size=32m', disk])
      expect(resized.status).toBe(0)
      await requests.made(PATH, configMap('after', 100_000))
      const changed = await requests.patch('merge', `${PATH}/before`, { data: { fill: 'new' } })
      expect(changed.code).toBe(200)
      const lines = await watch.until((l) => l.length === 3)
      expect(lines.map((l) => l.type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED'])
      const names = await named()
      expect(names).toEqual(sorted(['after', 'before', ...made]))
      requests.close()
      await server.end('SIGKILL')

      const again = await start(data)
      const second = new Requests(again)
      const { body } = await second.get(PATH)
      second.close()
      expect(namesIn(body)).toEqual(names)
      for (const o of body.items ?? [])
        if (o.metadata.name !== 'kube-root-ca.crt')
          expect([10, 3, 100_000, 300_000]).toContain((o['data'] as { fill: string }).fill.length)
      await again.end('SIGTERM')
      expect(checkData(join(data, 'objects.db')).problems).toEqual([])
    } finally {
      for (const server of running) await server.end('SIGKILL')
      running.clear()
      spawnSync('umount', [disk])
    }
  })
})
