// What the console costs and how soon it shows a change, as a process over a cluster of 10,000 Machines in an embedded API server: memory, processor time at rest,
// delay of changes at 100 a second, 500 streams at once, size of the page, and how soon a browser shows all machines.
import { machine } from '#api/kinds/machine.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { readPage } from '#console/server/page-files.ts'
import type { MachinesDelta } from '#console/protocol.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { Browser, type StreamEvent } from '#test/support/console/plain-browser.ts'
import { percentile } from './apiserver/load.ts'
import { firstPicture } from './console/first-picture.ts'
import { serveConsole } from './console/served.ts'
import { type BenchWorld, forEach, nodeName, startWorld, until } from './heal/world.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'
import { cpuSecondsOf, peakMb, residentMb } from './rollout/process-use.ts'

const MACHINES = 10_000
const CLUSTER = 'bench'
const TOPIC = `machines/${CLUSTER}`
const COMPONENTS = ['kubelet', 'containerd', 'cni', 'problem-detector']
const CHANGES_PER_SECOND = 100
const CHANGE_S = 30
/** One browser shows a fleet in which nothing happens. */
const IDLE_S = 60
/** After a burst: what it left is collected. */
const SETTLE_S = 20
const STREAMS = 500
/** The middle one counts. */
const PICTURES = 5
const WITHIN_MS = 120_000
const KB = 1_024

export const smoke: Figures = { machines: 20, idle_s: 1, change_s: 1, settle_s: 0, pictures: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const machines = numbers['machines'] ?? MACHINES
  const world = await startWorld(0, 'embedded')
  try {
    await forEach(machines, (n) => createMachine(world, n))
    const began = performance.now()
    const served = await serveConsole(CLUSTER, world.connection)
    try {
      const { pid } = served
      const { origin, port } = new URL(served.link)
      const browser = new Browser(Number(port), undefined, { isCareless: true })
      await browser.open(served.link)
      await everyMachine(browser, machines)
      const loadedS = (performance.now() - began) / 1_000
      const idle = await atRest(pid, browser, {
        settleS: numbers['settle_s'] ?? SETTLE_S,
        seconds: numbers['idle_s'] ?? IDLE_S,
      })
      const delays = await changes(world, browser, machines, numbers['change_s'] ?? CHANGE_S)
      const pictures = await firstPicture(
        { origin, cookies: browser.cookies, rounds: numbers['pictures'] ?? PICTURES },
        CLUSTER,
        machines,
      )
      const streams = await manyStreams(world, browser)
      const figures: Figures = {
        ...(pictures && {
          first_picture_10k_ms: Math.round(pictures.firstMs),
          longest_task_ms: Math.round(pictures.longestTaskMs),
        }),
        ...delays,
        ...idle,
        server_rss_peak_mb: Math.round(peakMb(pid) ?? 0),
        page_gzip_kb: rounded(pageBytes() / KB),
        ...streams,
        loaded_s: rounded(loadedS),
        machines,
      }
      return { figures, peer: null, ratio: {} }
    } finally {
      await served.stop()
    }
  } finally {
    await world.stop()
  }
}

/** As an agent with four components reports it. */
async function createMachine({ client }: BenchWorld, n: number): Promise<void> {
  const name = nodeName(n)
  const at = timestamp(systemClock.now())
  const is = (type: string) => ({ type, status: 'True', reason: 'Reported', message: '', lastTransitionTime: at })
  const version = n % 10 === 0 ? '1.1.0' : '1.0.0'
  await client.create(machine, {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: { name, labels: { pool: `pool-${n % 4}` } },
    spec: {
      channel: 'Agent',
      zone: `zone-${n % 3}`,
      rack: `rack-${Math.floor(n / 25)}`,
      pool: `pool-${n % 4}`,
      components: COMPONENTS.map((c) => ({ name: c, version, setRef: 'base', attempt: 1 })),
    },
  })
  const status = {
    phase: 'Ready',
    nodeRef: { name, uid: `uid-${n}` },
    conditions: [is('Ready'), is('AgentReachable')],
    components: COMPONENTS.map((c) => ({
      name: c,
      version,
      desired: version,
      state: 'Healthy',
      since: at,
      attempt: 1,
    })),
  }
  await client.patch(machine, { name }, { type: 'merge', value: { status } as never }, { subresource: 'status' })
}

const setPhase = ({ client }: BenchWorld, n: number, phase: string) =>
  client.patch(
    machine,
    { name: nodeName(n) },
    { type: 'merge', value: { status: { phase } } as never },
    { subresource: 'status' },
  )

async function everyMachine(browser: Browser, machines: number): Promise<void> {
  const end = performance.now() + WITHIN_MS
  for (;;) {
    const { status, text } = await browser.ask(`/api/topic/${TOPIC}`)
    const { names = [] } = status === 200 ? (JSON.parse(text) as { readonly names?: readonly string[] }) : {}
    if (names.length === machines) return
    if (performance.now() > end) throw new Error(`the console shows ${names.length} of ${machines} machines`)
    await systemClock.sleep(100)
  }
}

/** With one browser that follows what a person at the first page follows. */
async function atRest(
  pid: number,
  browser: Browser,
  { settleS, seconds }: { readonly settleS: number; readonly seconds: number },
): Promise<Figures> {
  const stream = browser.stream(['home', TOPIC])
  await systemClock.sleep(settleS * 1_000)
  const [before, at] = [cpuSecondsOf(pid) ?? 0, performance.now()]
  await systemClock.sleep(seconds * 1_000)
  const used = (cpuSecondsOf(pid) ?? 0) - before
  const cpu = (100 * used) / ((performance.now() - at) / 1_000)
  stream.close()
  return { server_rss_mb_10k: Math.round(residentMb(pid) ?? 0), idle_cpu_pct: rounded(cpu) }
}

/** From the answer of the API server to the delta at the browser. */
async function changes(world: BenchWorld, browser: Browser, machines: number, seconds: number): Promise<Figures> {
  const seen = new Map<string, number>()
  const stream = browser.stream([TOPIC], undefined, (event) => {
    const at = performance.now()
    for (const name of namesIn(event)) if (!seen.has(name)) seen.set(name, at)
  })
  await until(() => stream.status === 200, WITHIN_MS)
  const asked = new Map<string, number>()
  const answered = new Map<string, number>()
  const count = Math.min(machines, seconds * CHANGES_PER_SECOND)
  const writes: Promise<void>[] = []
  const began = performance.now()
  for (let n = 0; n < count; n++) {
    const due = began + (n * 1_000) / CHANGES_PER_SECOND
    if (due > performance.now()) await systemClock.sleep(due - performance.now())
    const name = nodeName(n)
    asked.set(name, performance.now())
    writes.push(setPhase(world, n, 'Updating').then(() => void answered.set(name, performance.now())))
  }
  await Promise.all(writes)
  const written = performance.now() - began
  await until(() => seen.size === count, WITHIN_MS)
  stream.close()
  const delays = (since: ReadonlyMap<string, number>): readonly number[] =>
    [...seen].map(([name, at]) => at - (since.get(name) ?? 0)).toSorted((a, b) => a - b)
  return {
    delta_ms_p99: Math.round(percentile(delays(answered), 0.99)),
    delta_ms_p50: Math.round(percentile(delays(answered), 0.5)),
    delta_with_write_ms_p99: Math.round(percentile(delays(asked), 0.99)),
    changes_per_s: rounded((1_000 * count) / written),
    changes_lost: count - seen.size,
  }
}

function namesIn({ event, data }: StreamEvent): readonly string[] {
  if (event !== 'delta') return []
  const { deltas } = JSON.parse(data) as { readonly deltas: readonly MachinesDelta[] }
  return deltas.flatMap((d) => (d.topic === TOPIC ? d.machines.map(([name]) => name) : []))
}

/** All get one change; one more takes the place of the oldest. */
async function manyStreams(world: BenchWorld, browser: Browser): Promise<Figures> {
  const [reached, open] = [new Set<number>(), new Set<number>()]
  const streams = Array.from({ length: STREAMS }, (_, i) =>
    browser.stream([TOPIC], undefined, (event) => {
      if (namesIn(event).includes(nodeName(0))) reached.add(i)
    }),
  )
  const areOpen = await until(() => {
    streams.forEach((s, i) => s.status === 200 && open.add(i))
    return open.size === STREAMS
  }, WITHIN_MS)
  const before = performance.now()
  await setPhase(world, 0, 'Repairing')
  const areReached = await until(() => reached.size === STREAMS, WITHIN_MS)
  const ms = performance.now() - before
  const ended = (): number => streams.filter((s) => s.isEnded).length
  const before501 = ended()
  const beyond = browser.stream([TOPIC])
  const gaveWay = await until(() => beyond.status === 200 && ended() === 1, WITHIN_MS)
  const isOk = areOpen && areReached && before501 === 0 && gaveWay
  if (!isOk)
    console.error(
      `streams: ${open.size} open, ${reached.size} got the change, ${before501} ended; one more got ${beyond.status}, and ${ended()} ended`,
    )
  for (const stream of [...streams, beyond]) stream.close()
  return { streams_500_ok: isOk ? 1 : 0, streams_500_ms: Math.round(ms) }
}

function pageBytes(): number {
  const { files, html } = readPage()
  return [html, ...files.values()].reduce((sum, { gzip }) => sum + gzip.length, 0)
}
