// Many clients against a server that is killed or loses its power at random moments: what they saw must be what one server that
// keeps its word could have answered (F22, F24, F28).
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { violations, type Entry } from '#test/support/servers/api-history.ts'
import { HistoryClients, type Between } from '#test/support/servers/api-history-clients.ts'
import { startedApiServer, type ServerProcess } from '#test/support/servers/apiserver-process.ts'
import { LossyDisk } from '#test/support/faults/power-loss.ts'
import type { Reply, WatchLine } from '#test/support/servers/api-requests.ts'
import { noStrace, recording, type Recording } from '#test/support/faults/strace.ts'
import { inFull, onlyInFull } from '#test/support/tools/full.ts'
import { testSeed } from '#test/support/tools/seed.ts'

const base = testSeed
const seeds = Array.from({ length: inFull(50, 1) }, (_, i) => base + i)
const CLIENTS = 6
const WATCHERS = 3
const ROUNDS = 3
const FILES = ['objects.db', 'objects.db-wal', 'objects.db.mark']
const noPower = noStrace()

let root = ''
let data = ''
let server: ServerProcess | undefined
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-history-'))
  data = join(root, 'data')
})
afterEach(async () => {
  await server?.end('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

interface Run {
  readonly seed: number
  readonly losesPower: boolean
  readonly rounds?: number
  readonly between?: Between
  /** Runs in place of the server. */
  readonly script?: string
  /** A round continues until then: a machine under load may be slow to show a fault. */
  readonly isShown?: () => boolean
}

async function historyOf({ seed, losesPower, rounds = ROUNDS, between, script, isShown = () => true }: Run) {
  const random = seededRandom(seed)
  const clients = new HistoryClients(random, between)
  let port = 0
  const start = async (under: readonly string[] = []): Promise<ServerProcess> => {
    server = await startedApiServer(data, port, { under, ...defined({ script }) })
    port = server.port
    return server
  }
  // keys and certificates are made before anything is recorded
  await (await start()).end('SIGTERM')
  for (let round = 0; round < rounds; round++) {
    const before = join(root, `before-${round}`)
    cpSync(data, before, { recursive: true })
    const record = losesPower ? recording(FILES.map((f) => join(data, f))) : undefined
    const running = await start(record?.argv)
    const working = clients.work(running, CLIENTS, WATCHERS)
    // by what was done, not by the clock: machines differ
    const enough = clients.entries.length + 60 + Math.floor(random.next() * 200)
    const pauseAt = random.next() < 0.4 ? enough - 40 : Infinity
    let isPaused = false
    while (clients.entries.length < enough || !isShown()) {
      // a client that was answered what it must not be ends the test
      await Promise.race([sleep(5), working])
      if (isPaused || clients.entries.length < pauseAt) continue
      isPaused = true
      // all clients then have calls in flight, answered late: none may get old data
      await running.pause(200)
    }
    clients.rest()
    await running.end('SIGKILL')
    clients.cut()
    await working
    if (record !== undefined) losePower(record, before, random)
  }
  const last = await start()
  await clients.lookAtRest(last)
  await last.end('SIGTERM')
  return clients.entries
}

/** The violation, and where the whole history was saved for analysis. */
function explained(history: readonly Entry[]): readonly string[] {
  const problems = violations(history)
  if (problems.length === 0) return problems
  const file = join(mkdtempSync(join(tmpdir(), 'kubenode-violation-')), 'history.json')
  writeFileSync(file, JSON.stringify(history))
  return [file, ...problems]
}

/** Puts into the data folder what may be left of the recorded writes. */
function losePower(record: Recording, before: string, random: ReturnType<typeof seededRandom>): void {
  const disk = LossyDisk.of(before, data, FILES)
  for (const event of record.events(data)) disk.see(event)
  for (const f of [...FILES, 'objects.db-shm']) rmSync(join(data, f), { force: true })
  mkdirSync(data, { recursive: true })
  disk.leave(data, data, random)
}

describe(`a history over crashes (seed ${base})`, () => {
  test.each(seeds)(
    'F22 F24 F28 seed %i: nothing acknowledged is lost, revisions grow, watches are complete and in order, reads are of their time',
    async (seed) => {
      const losesPower = seed % 2 === 1 && noPower === undefined
      const history = await historyOf({ seed, losesPower })
      expect(explained(history)).toEqual([])
      const count = (is: string) => history.filter((e) => e.is === is).length
      expect([count('write') > 80, count('read') > 15, count('list') > 5, count('watch') > 3]).toEqual([
        true,
        true,
        true,
        true,
      ])
    },
  )
})

interface Mutant {
  readonly between: Between
  /** How often it did what it must not. */
  readonly faults: () => number
}

/** Enough that at least one is no watch's last event, and no read of an unchanged key. */
const FAULTS = 10

function spoiltLines(spoil: (line: WatchLine) => readonly WatchLine[]): Mutant {
  let events = 0
  let faults = 0
  return {
    between: {
      line(line) {
        if (line.type === 'BOOKMARK' || ++events % 7 !== 0) return [line]
        faults++
        return spoil(line)
      },
      reply: (r) => r,
    },
    faults: () => faults,
  }
}

function staleReads(): Mutant {
  const old = new Map<string, Reply>()
  let reads = 0
  let faults = 0
  return {
    between: {
      line: (l) => [l],
      reply(reply, path) {
        const before = old.get(path)
        if (++reads % 3 !== 0) old.set(path, reply)
        if (reads % 3 !== 0 || before === undefined) return reply
        if (before.body.metadata.resourceVersion !== reply.body.metadata.resourceVersion) faults++
        return before
      },
    },
    faults: () => faults,
  }
}

const MUTANTS: Readonly<Record<string, { readonly mutant: () => Mutant; readonly found: RegExp }>> = {
  'drops a watch event now and then': { mutant: () => spoiltLines(() => []), found: /missed/ },
  'sends a watch event twice': { mutant: () => spoiltLines((l) => [l, l]), found: /showed .* after/ },
  'answers a read with what was there before': { mutant: staleReads, found: /was read at|was not found when/ },
}

describe('the checker finds a server that', () => {
  // api-history.test.ts shows the checker each of these without a server.
  test.for(Object.entries(MUTANTS))('%s', async ([, { mutant, found }], context) => {
    onlyInFull(context)
    const { between, faults } = mutant()
    const isShown = () => faults() >= FAULTS
    const history = await historyOf({ seed: base, losesPower: false, rounds: 2, between, isShown })
    expect(violations(history).join('\n')).toMatch(found)
  })

  test('acknowledges a write before it is stored', async (context) => {
    onlyInFull(context)
    const script = join(import.meta.dirname, '../support/servers/hasty-server.ts')
    const history = await historyOf({ seed: base, losesPower: false, rounds: 2, script })
    expect(violations(history).length).toBeGreaterThan(0)
  })
})
