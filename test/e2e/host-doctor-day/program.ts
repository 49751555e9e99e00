// The controllers that treat hosts, in a process of their own that can be killed: the host doctor, the rules and their repairs, with the real provider over HTTP. Only
// the time is handed in: it passes when the test says so.
import { programUser } from '#api/names.ts'
import { hostDoctorModule } from '#controllers/hostdoctor/reconcile.ts'
import { remedyModule } from '#controllers/remedy/reconcile.ts'
import { remedyJobModule } from '#controllers/remedyjob/reconcile.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { loggerTo } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { partsOf } from '#runtime/module.ts'
import { VENDORS } from '#test/doubles/clouds/worlds.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Traffic } from './traffic.ts'

export interface Begin {
  readonly server: string
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly cloud: string
  readonly now: number
  readonly life: number
}

/** From the test: so much time passes. */
export interface Pass {
  readonly ms: number
}

const [ALICLOUD] = VENDORS

async function begin({ server, ca, cert, key, cloud, now, life }: Begin): Promise<void> {
  const clock = new VirtualClock(now)
  const random = seededRandom(life)
  const traffic = new Traffic()
  const log = loggerTo((level, message, data) => {
    if (level === 'warn' || level === 'error') console.log(level, message, data)
  })
  const client = traffic.client(
    new HttpKubeClient({
      server,
      ca: { data: ca },
      clientCertificate: { cert: { data: cert }, key: { data: key } },
      impersonate: { user: programUser('controllers') },
    }),
  )
  const informers = createInformers({ client, clock, random, log, startSpreadMs: 0 })
  const provider = ALICLOUD.provider({ clock, endpoint: cloud, transport: traffic.transport })
  const running = [hostDoctorModule, remedyModule, remedyJobModule].flatMap((module) =>
    partsOf(
      module.setup({
        client,
        informers,
        clock,
        random,
        log,
        metrics: createMetrics(),
        events: createEventRecorder({
          client,
          clock,
          controller: `kubenode.io/${module.name}`,
          instance: `life-${life}`,
        }),
        config: {
          cluster: 'own',
          providers: { [provider.name]: provider },
          join: {
            server,
            caData: 'Q0E=',
            artifactBase: 'https://artifacts.example/',
            trust: { sequence: 1, threshold: 1, keys: [] },
          },
        },
      }),
      { controller: (c) => c },
    ),
  )
  process.on('message', ({ ms }: Pass) => {
    void clock
      .advance(ms)
      .then(() => traffic.quiet())
      .then(() => process.send?.('passed'))
  })
  informers.start()
  await informers.synced()
  for (const part of running) await part.start(new AbortController().signal)
  await traffic.quiet()
  process.send?.('passed')
}

process.once('message', (message: Begin) => {
  begin(message).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
