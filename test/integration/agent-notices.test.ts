// An agent whose Machine names a cloud asks the metadata service on its link, reports what it says, and the host doctor makes events of it.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAgent } from '#agent/agent.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { hostDoctorModule } from '#controllers/hostdoctor/reconcile.ts'
import { systemClock } from '#lib/system-clock.ts'
import { loggerTo } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type FakeMetadata, serveMetadata } from '#test/doubles/clouds/fake-metadata.ts'
import { AgentBench, eventually, MACHINE } from './agent-bench.ts'

const bench = new AgentBench()
const stop = new AbortController()
const log = loggerTo(() => undefined)
let metadata: FakeMetadata
let agent: Promise<unknown>
let endDoctor: () => Promise<void>

const SPOT = 'latest/meta-data/spot/instance-action'

beforeAll(async () => {
  metadata = await serveMetadata('AWS')
  await bench.start()
  bench.writeJoin()
  bench.writeConfig({ metrics: false })
  await bench.makeMachine()
  agent = runAgent({
    path: bench.nodeFolder,
    version: '1.0.0',
    nodeBinary: process.execPath,
    clock: systemClock,
    random: seededRandom(1),
    log,
    signal: stop.signal,
    metadataOrigins: { AWS: metadata.url },
  })
  endDoctor = startDoctor()
})

afterAll(async () => {
  stop.abort()
  await agent
  await endDoctor()
  await metadata.close()
  await bench.stop()
})

function startDoctor(): () => Promise<void> {
  const { client } = bench
  const common = { client, clock: systemClock, random: seededRandom(2), log }
  const informers = createInformers({ ...common, startSpreadMs: 0 })
  const { controllers } = hostDoctorModule.setup({
    ...common,
    informers,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: {},
      join: {
        server: 'https://api',
        caData: 'Q0E=',
        artifactBase: 'file:///a/',
        trust: { sequence: 1, threshold: 1, keys: [] },
      },
    },
  })
  for (const c of controllers) c.start()
  informers.start()
  return async () => {
    for (const c of controllers) await c.stop()
    await informers.stop()
  }
}

const spec = (value: { readonly notices: string | null }) =>
  bench.client.patch(
    machineType,
    { name: MACHINE },
    { type: 'merge', value: { spec: value } },
    { fieldManager: 'kubenode-machine' },
  )
const notices = async () => (await bench.machine())?.status?.notices
const events = async () => (await bench.client.list(maintenanceEvent)).items

test('nothing is asked until the Machine names the cloud, and then what the service says becomes one event', async () => {
  await eventually(
    'the first report',
    async () => (await bench.machine())?.status?.agent?.version,
    (v) => v === '1.0.0',
  )
  expect([metadata.asked, metadata.sessions(), await notices()]).toEqual([[], 0, undefined])
  await spec({ notices: 'AWS' })
  await eventually('an empty report', notices, (n) => n !== undefined)
  expect(await notices()).toEqual({ from: 'AWS', items: [] })

  metadata.pages.set(SPOT, '{"action":"terminate","time":"2096-03-03T08:22:00Z"}')
  const made = await eventually('the event', events, (e) => e.length > 0)
  expect(made.map((e) => e.spec)).toMatchObject([
    { machine: MACHINE, source: 'Metadata', kind: 'Reclaim', notBefore: '2096-03-03T08:22:00Z', dataLoss: true },
  ])
  // At once, decades before the time: a reclaimed host waits for no lead.
  await eventually('the preparation', events, ([e]) => e?.status?.phase === 'Preparing')
})

test('a notice that the service takes back twice ends its event, and the end of the field ends the report', async () => {
  metadata.pages.delete(SPOT)
  await eventually('the report', notices, (n) => n?.items.length === 0, 20_000)
  await eventually('the end', events, ([e]) => e?.status?.phase === 'Cancelled')
  expect((await notices())?.items).toEqual([])
  await spec({ notices: null })
  await eventually('no report', notices, (n) => n === undefined)
})
