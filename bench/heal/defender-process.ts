// The Defender as a separate process, as in production: its work must not slow down the others.
import { defenderModule } from '#defender/role.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'

const connection = JSON.parse(process.argv[2] ?? '{}') as ConnectionConfig
const client = new HttpKubeClient({
  ...connection,
  impersonate: { user: 'kubenode:defender', groups: ['system:authenticated'] },
})
const tools = { clock: systemClock, random: systemRandom, log: silentLogger, metrics: createMetrics() }
const informers = createInformers({ client, ...tools, startSpreadMs: 0 })
const { parts = [] } = await defenderModule({ identity: 'bench', cluster: 'bench' }).setup({
  client,
  informers,
  ...tools,
})
informers.start()
await informers.synced()
for (const part of parts) await part.start(new AbortController().signal)
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
