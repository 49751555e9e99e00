// The agent's component loop with its files behind a shell that is lost before or after each of its snippets: what is in use is the whole old or the whole new
// version, and the next session ends as an undisturbed one. Processes are simulated.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ProbeAnswer } from '#agent/components/probe.ts'
import { filesOverSsh } from '#agent/files/over-ssh.ts'
import { systemClock } from '#lib/system-clock.ts'
import type { Channel } from '#ssh/channel.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { type Cut, cutAt, localShell } from '#test/support/servers/local-shell.ts'
import { isFull } from '#test/support/tools/full.ts'
import { until } from '#test/support/tools/processes.ts'

const PATIENCE_MS = 60_000
const folder = mkdtempSync(join(tmpdir(), 'kubenode-cuts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const publisher = newPublisher()
const releases = ['1.0.0', '1.1.0', '1.2.0'].map((version) =>
  release(publisher, {
    version,
    spec: {
      files: [{ path: '/etc/beacon.conf', mode: '0600', format: 'plain', template: version, onChange: 'Restart' }],
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '0s' }],
    },
  }),
)
const failing = (version: string): ProbeAnswer =>
  version === '1.2.0' ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' }
const to = (version: string, attempt = 2): TestOrder => ({ version, attempt, switch: { attempt, permit: 'p' } })

interface Row {
  readonly what: string
  readonly before: TestOrder | undefined
  readonly order: TestOrder | undefined
  readonly state: string | undefined
  /** In use afterwards. */
  readonly ends: string | undefined
  /** Also in use when the session was lost. */
  readonly meanwhile: readonly (string | undefined)[]
  /** Where the quick run cuts, before and after a snippet; the session has more of them. */
  readonly quickly: readonly [before: number, after: number]
}

const OLD = 'beacon 1.0.0'
const ROWS: readonly Row[] = [
  {
    what: 'an installation',
    before: undefined,
    order: to('1.0.0', 1),
    state: 'Healthy',
    ends: OLD,
    meanwhile: [undefined],
    quickly: [60, 180],
  },
  {
    what: 'an upgrade',
    before: to('1.0.0', 1),
    order: to('1.1.0'),
    state: 'Healthy',
    ends: 'beacon 1.1.0',
    meanwhile: [OLD],
    quickly: [120, 45],
  },
  {
    what: 'a bad version',
    before: to('1.0.0', 1),
    order: to('1.2.0'),
    state: 'RolledBack',
    ends: OLD,
    meanwhile: ['beacon 1.2.0'],
    quickly: [83, 160],
  },
  {
    what: 'a removal',
    before: to('1.0.0', 1),
    order: undefined,
    state: undefined,
    ends: undefined,
    meanwhile: [OLD],
    quickly: [21, 40],
  },
]

class Host {
  readonly #name: string
  readonly #processes = new FakeProcesses()

  constructor(name: string) {
    this.#name = name
  }

  /** A session in which an order is obeyed, until it is carried out or the session is lost. */
  async obeys(
    order: TestOrder | undefined,
    state: string | undefined,
    channel: Pick<Channel, 'ask'>,
    isOver = () => false,
  ) {
    const node = new FakeNode({
      publisher,
      releases,
      clock: systemClock,
      processes: this.#processes,
      probe: failing,
      adoption: 'Adopt',
      medium: { files: filesOverSsh(channel), folder: join(folder, this.#name) },
    })
    const isSettled = (): boolean => {
      const { record } = node.worker
      return record?.state === state && record?.open === undefined && record?.target.version === order?.version
    }
    try {
      await node.start()
      node.obey(order)
      await until(
        `${order?.version ?? 'removal'} on ${this.#name}`,
        () => {
          if (isSettled() || isOver()) return true
          throw new Error(`${JSON.stringify(node.worker.record)} ${node.worker.waiting} ${node.worker.removalProblem}`)
        },
        PATIENCE_MS,
      )
      await node.worker.close()
    } catch (e) {
      if (!isOver()) throw e
    }
  }

  get inUse(): string | undefined {
    const beacon = join(folder, this.#name, 'root/opt/beacon/bin/beacon')
    return existsSync(beacon) ? readFileSync(beacon, 'utf8') : undefined
  }

  remove(): void {
    rmSync(join(folder, this.#name), { recursive: true, force: true })
  }
}

/** Returns whether the session was cut: it may be over before. */
async function cutRun({ before, order, state, ends, meanwhile }: Row, name: string, at: number, cut: Cut) {
  const host = new Host(name)
  const session = async (work: (channel: Channel) => Promise<void>): Promise<void> => {
    const channel = await localShell()
    await work(channel).finally(() => channel.close())
  }
  if (before !== undefined) await session((channel) => host.obeys(before, 'Healthy', channel))
  let isCut = false
  await session(async (channel) => {
    const lost = cutAt(channel, at, cut)
    await host.obeys(order, state, lost, () => lost.isCut)
    ;({ isCut } = lost)
  })
  expect([ends, ...meanwhile], `${name}: in use`).toContain(host.inUse)
  await session((channel) => host.obeys(order, state, channel))
  expect(host.inUse, `${name}: in the end`).toBe(ends)
  host.remove()
  return isCut
}

const CASES = ROWS.flatMap((row) =>
  (['before', 'after'] as const).map((cut, c) => ({ row, cut, at: row.quickly[c] ?? 0 })),
)
/** What a session leaves after a snippet, another one leaves before the next: together they are cut everywhere. */
const STRIDE = 2

test.each(CASES)(
  '$row.what whose session is lost $cut a snippet is continued by the next one',
  async ({ row, cut, at }) => {
    const run = (n: number) => cutRun(row, `${row.what} ${cut} ${n}`.replaceAll(' ', '-'), n, cut)
    if (isFull) for (let n = 0; await run(n);) n += STRIDE
    else expect(await run(at), `it is over before snippet ${at}`).toBe(true)
  },
  isFull ? 7_200_000 : 300_000,
)
